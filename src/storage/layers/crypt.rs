//! `crypt`: dm-crypt encryption in the kernel, set up by dmsetup.

use serde::{Deserialize, Serialize};

use super::{Layer, LayerKind, MAPPER, Place, pair};
use crate::schema::description::Description;
use crate::schema::setup::{Argv, Named};
use crate::schema::units::{Bytes, KIB};
use crate::text::names;

const CIPHER: &str = "aes-xts-plain64";
const SECTOR: u64 = 512;
/// Unit of the kernel's device-mapper tables, in bytes.
const TABLE_SECTOR: u64 = 512;

/// Ciphers and the modules that implement them, including those for the CPU's crypto instructions.
const CIPHERS: [(&str, &[&str]); 4] = [
    ("aes", &["aes_generic", "aesni_intel"]),
    ("serpent", &["serpent_generic"]),
    ("twofish", &["twofish_generic"]),
    ("camellia", &["camellia_generic"]),
];
/// Modes, their modules, and the length of their keys in bytes.
const MODES: [(&str, &[&str], u8); 2] = [("xts", &["xts", "ecb"], 64), ("cbc", &["cbc"], 32)];
/// Methods that derive the initial vector from the sector number, and their modules.
const VECTORS: [(&str, &[&str]); 3] =
    [("plain64", &[]), ("plain64be", &[]), ("essiv:sha256", &["essiv", "sha256_generic"])];

pub struct CryptKind;

impl LayerKind for CryptKind {
    fn name(&self) -> &'static str {
        "crypt"
    }

    fn usage(&self) -> &'static str {
        "crypt[:cipher=CIPHER-MODE-IV,sector=BYTES]"
    }

    fn examples(&self) -> &'static [&'static str] {
        &["crypt"]
    }

    fn description(&self) -> Description {
        Description {
            what: "Encrypts each device below this layer with dm-crypt. Ciphers: aes, serpent, twofish, camellia; \
                   modes: xts, cbc. The default is aes-xts-plain64 with sectors of 512 bytes.",
            origin: "The kernel's Documentation/admin-guide/device-mapper/dm-crypt.rst; dmsetup(8) loads the \
                     table that `cryptsetup --type plain` would.",
            limits: "The key is constant (bytes 0, 1, 2, …), so it protects nothing, but encryption costs as much as \
                     with a secret key. There is no header, so the whole device is encrypted. The cost depends on the \
                     CPU: AES instructions make encryption several times cheaper, and an emulated or modelled CPU may \
                     lack them. Discards are not passed to the device.",
        }
    }

    fn tools(&self) -> &'static [&'static str] {
        &["dmsetup"]
    }

    fn package(&self) -> &'static str {
        "dmsetup"
    }

    fn with(&self, settings: &str) -> Result<Box<dyn Layer>, String> {
        let mut crypt = Crypt { cipher: CIPHER.to_owned(), sector: Bytes(SECTOR) };
        for setting in settings.split(',').filter(|s| !s.is_empty()) {
            match pair(setting)? {
                ("cipher", cipher) => crypt.cipher = cipher.to_owned(),
                ("sector", size) => crypt.sector = size.parse()?,
                (key, _) => return Err(names::unknown("setting", key, ["cipher", "sector"])),
            }
        }
        crypt.checked().map(|crypt| Box::new(crypt) as Box<dyn Layer>)
    }

    fn of(&self, named: &Named) -> Result<Box<dyn Layer>, String> {
        named.settings::<Crypt>()?.checked().map(|crypt| Box::new(crypt) as Box<dyn Layer>)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crypt {
    cipher: String,
    /// Unit of encryption in bytes.
    sector: Bytes,
}

/// The parts of a cipher's text.
struct Cipher {
    modules: Vec<&'static str>,
    key_bytes: u8,
}

impl Crypt {
    fn checked(self) -> Result<Crypt, String> {
        self.parts()?;
        let Bytes(sector) = self.sector;
        if !sector.is_power_of_two() || !(SECTOR..=4 * KIB).contains(&sector) {
            return Err(format!("sector={} is not possible; write 512, 1k, 2k or 4k", self.sector.written()));
        }
        Ok(self)
    }

    fn parts(&self) -> Result<Cipher, String> {
        let mut words = self.cipher.splitn(3, '-');
        let (Some(cipher), Some(mode), Some(vector)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("cipher={} is not CIPHER-MODE-IV; write {CIPHER}", self.cipher));
        };
        let unknown = |what: &str, name: &str, known: Vec<&'static str>| names::unknown(what, name, known);
        let (_, ciphers) = CIPHERS
            .iter()
            .find(|(name, _)| *name == cipher)
            .ok_or_else(|| unknown("cipher", cipher, CIPHERS.iter().map(|row| row.0).collect()))?;
        let (_, modes, key_bytes) = MODES
            .iter()
            .find(|(name, ..)| *name == mode)
            .ok_or_else(|| unknown("mode of a cipher", mode, MODES.iter().map(|row| row.0).collect()))?;
        let (_, vectors) = VECTORS
            .iter()
            .find(|(name, _)| *name == vector)
            .ok_or_else(|| unknown("initial vector", vector, VECTORS.iter().map(|row| row.0).collect()))?;
        Ok(Cipher { modules: [*ciphers, *modes, *vectors].concat(), key_bytes: *key_bytes })
    }

    /// A constant key, which protects nothing: figures must be the same on every machine.
    fn key(&self) -> String {
        let bytes = self.parts().map_or(0, |parts| parts.key_bytes);
        debug_assert!(bytes > 0, "the cipher was checked when the layer was parsed");
        (0..bytes).map(|byte| format!("{byte:02x}")).collect()
    }

    fn names(place: &Place) -> impl Iterator<Item = String> {
        let owner = if place.owner.is_empty() { String::new() } else { format!("{}-", place.owner) };
        let at = place.at;
        (0..place.below.len()).map(move |n| format!("fsderby-{owner}{at}-{n}"))
    }
}

impl Layer for Crypt {
    fn kind(&self) -> &'static dyn LayerKind {
        &CryptKind
    }

    fn named(&self) -> Named {
        Named::new(CryptKind.name(), self)
    }

    fn written(&self) -> String {
        format!("crypt:cipher={},sector={}", self.cipher, self.sector.0)
    }

    fn above(&self, below: &[Bytes]) -> Result<Vec<Bytes>, String> {
        Ok(below.to_vec())
    }

    fn modules(&self) -> Vec<&'static str> {
        let own = ["dm-mod", "dm-crypt"];
        own.into_iter().chain(self.parts().map(|parts| parts.modules).unwrap_or_default()).collect()
    }

    fn build(&self, place: &Place) -> Vec<Argv> {
        let large = match self.sector.0 {
            SECTOR => String::new(),
            sector => format!(" 1 sector_size:{sector}"),
        };
        let create = |(name, below): (String, &super::Below)| {
            let sectors = below.bytes.0 / TABLE_SECTOR;
            let (cipher, key, path) = (&self.cipher, self.key(), &below.path);
            let table = format!("0 {sectors} crypt {cipher} {key} 0 {path} 0{large}");
            // No udev runs that would create the device node or report it.
            ["dmsetup", "create", &name, "--noudevsync", "--noudevrules", "--table", &table]
                .map(str::to_owned)
                .into()
        };
        Crypt::names(place).zip(&place.below).map(create).collect()
    }

    fn take_down(&self, place: &Place) -> Vec<Argv> {
        let remove = |name: String| {
            ["dmsetup", "remove", "--noudevsync", "--noudevrules", &name].map(str::to_owned).into()
        };
        Crypt::names(place).map(remove).collect()
    }

    fn devices(&self, place: &Place) -> Vec<String> {
        Crypt::names(place).map(|name| format!("{MAPPER}{name}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Below;
    use super::*;

    fn place() -> Place {
        Place {
            at: 2,
            owner: String::new(),
            below: vec![Below { path: "/dev/md1".into(), bytes: Bytes(1 << 20) }],
        }
    }

    #[test]
    fn a_device_is_encrypted_from_its_first_sector_to_its_last() {
        let layer = CryptKind.with("sector=4k").unwrap();
        let [argv] = &layer.build(&place())[..] else { panic!("one device") };
        let key: String = (0..64).map(|byte: u8| format!("{byte:02x}")).collect();
        let table = format!("0 2048 crypt aes-xts-plain64 {key} 0 /dev/md1 0 1 sector_size:4096");
        assert_eq!(argv.last(), Some(&table));
        assert_eq!(layer.devices(&place()), ["/dev/mapper/fsderby-2-0"]);
        assert_eq!(layer.take_down(&place())[0].last().map(String::as_str), Some("fsderby-2-0"));
    }

    #[test]
    fn a_cipher_names_the_modules_that_it_needs() {
        let modules = |text: &str| CryptKind.with(text).unwrap().modules();
        assert!(["dm-crypt", "aes_generic", "xts"].iter().all(|m| modules("").contains(m)));
        let essiv = modules("cipher=serpent-cbc-essiv:sha256");
        assert!(["serpent_generic", "cbc", "essiv", "sha256_generic"].iter().all(|m| essiv.contains(m)));
    }
}
