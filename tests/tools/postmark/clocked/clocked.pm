set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 40823 74305
set seed 988231
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 48490 133954
set seed 813652
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 16322 101385
set seed 389854
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 30741 63060
set seed 601821
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 16341 18060
set seed 293059
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 11933 62978
set seed 145509
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 40497 121428
set seed 1862
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 349 27803
set seed 914786
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 10911 48831
set seed 918678
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 44423 126439
set seed 206443
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 25115 64278
set seed 174018
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 9549 44128
set seed 857107
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 39526 116353
set seed 742053
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 22145 30799
set seed 504098
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 45641 87033
set seed 738900
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 11543 19015
set seed 375017
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 26496 28865
set seed 394648
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 37914 39104
set seed 189708
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 40876 66635
set seed 974815
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 30292 75431
set seed 263082
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 30334 44497
set seed 835953
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 24072 62852
set seed 218611
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 22331 89556
set seed 356474
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 18067 89521
set seed 332189
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 1 20
set seed 321044
set bias read 5
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 1 20
set seed 186099
set bias read 10
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 1024 1024
set seed 837575
set bias read -1
set report verbose
run
set report terse
run
set number 60
set transactions 97
set buffering false
set read 100000
set write 100000
set size 5 6
set seed 81995
set bias read 5
set report verbose
run
set report terse
run
quit
