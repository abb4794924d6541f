"""Puts the jars that pyspark lacks (Delta's) into its jars folder, once for each environment.

Spark's own package resolution downloads them. After that no run needs packages or a network, none
prints what it resolves, and a Thrift server started from the same pyspark finds the data source
`delta` as well. Run it with the Python that has pyspark; it takes no time where they are there.
"""

import hashlib
import os
import shutil
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pyspark

VERSION = "4.4.0"
PACKAGES = f"io.delta:delta-spark_4.2_2.13:{VERSION}"
# What remains are Delta's own five. pyspark has most of the others, often newer, and only
# Unity Catalog needs the rest.
EXCLUDED = ("org.*:*", "com.*:*", "commons-*:*", "javax.*:*", "io.airlift:*", "io.unitycatalog:*")

SPARK_HOME = Path(pyspark.__file__).parent
JARS = SPARK_HOME / "jars"
IVY_HOME = Path(sys.prefix, "ivy")


def trusted_certificates() -> list[bytes]:
    """The certificates the machine trusts (DER), among them those of a company's proxy."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bundles = (
        os.environ.get("SSL_CERT_FILE"),
        ssl.get_default_verify_paths().cafile,
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
    )
    for bundle in bundles:
        if bundle and Path(bundle).is_file():
            context.load_verify_locations(bundle)
    return context.get_ca_certs(binary_form=True)


def write_trust_store(path: Path, certificates: list[bytes]) -> None:
    """Writes a Java key store (format JKS, version 2) that any Java reads without a password."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", 2) + text(f"ca{number}") + struct.pack(">Q", 0) + text("X.509")
        body += struct.pack(">I", len(certificate)) + certificate
    salt = "changeit".encode("utf-16-be") + b"Mighty Aphrodite"
    path.write_bytes(body + hashlib.sha1(salt + body).digest())


def java_options(folder: Path) -> list[str]:
    """Tells Java what the other tools read from the machine: certificates and the proxy."""
    options = []
    certificates = trusted_certificates()
    if certificates:
        store = folder / "cacerts.jks"
        write_trust_store(store, certificates)
        options += [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=JKS"]
    for scheme, url in urllib.request.getproxies().items():
        proxy = urlsplit(url if "//" in url else f"//{url}")
        if scheme in ("http", "https") and proxy.hostname:
            options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            if proxy.port:
                options.append(f"-D{scheme}.proxyPort={proxy.port}")
    return options


def fetch() -> list[Path]:
    """The jars, downloaded; what Spark says is shown where it fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nothing = folder / "nothing.py"
        nothing.touch()
        command = [
            str(SPARK_HOME / "bin" / "spark-submit"),
            *("--packages", PACKAGES),
            *("--exclude-packages", ",".join(EXCLUDED)),
            *("--conf", f"spark.jars.ivy={IVY_HOME}"),
            *("--driver-java-options", " ".join(java_options(folder))),
            str(nothing),
        ]
        environment = os.environ | {"SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable}
        environment.pop("SPARK_CONF_DIR", None)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}fetch_jars: {PACKAGES} could not be fetched")
    return sorted((IVY_HOME / "jars").glob(f"*-{VERSION}.jar"))


def main() -> None:
    if not list(JARS.glob(f"delta-spark_*-{VERSION}.jar")):
        for old in JARS.glob("delta-*.jar"):
            old.unlink()
        # Delta's own last: where it is, all are there
        for jar in sorted(fetch(), key=lambda jar: "delta-spark" in jar.name):
            part = shutil.copyfile(jar, JARS / "delta.part")
            part.replace(JARS / jar.name.partition("_")[2])
    print(f"fetch_jars: Delta {VERSION} is in {JARS}")


if __name__ == "__main__":
    main()
