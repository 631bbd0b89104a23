/** A certificate authority of a test's own, so that nothing has to be installed or kept in the repository. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import forge from "node-forge";

/** Certificate and key, PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

const dayMs = 24 * 3600 * 1000;

interface Keys {
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
  readonly pem: string;
}

/** Node makes the keys: it is a hundred times as fast. */
function newKeys(): Keys {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  return {
    publicKey: forge.pki.publicKeyFromPem(publicKey),
    privateKey: forge.pki.privateKeyFromPem(privateKey),
    pem: privateKey,
  };
}

export class TestAuthority {
  /** Its certificate, PEM. */
  readonly ca: string;
  readonly #keys = newKeys();
  readonly #subject: forge.pki.CertificateField[];

  constructor(name = "qyt test authority") {
    this.#subject = [{ shortName: "CN", value: name }];
    const certificate = this.#blank(this.#keys.publicKey, this.#subject);
    certificate.setExtensions([
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
      { name: "subjectKeyIdentifier" },
    ]);
    certificate.sign(this.#keys.privateKey, forge.md.sha256.create());
    this.ca = forge.pki.certificateToPem(certificate);
  }

  /** A certificate for 127.0.0.1 and localhost, and a key of its own. */
  issue(commonName = "localhost"): CertificatePair {
    const keys = newKeys();
    const certificate = this.#blank(keys.publicKey, [{ shortName: "CN", value: commonName }]);
    const dns = 2;
    const ip = 7;
    certificate.setExtensions([
      { name: "basicConstraints", cA: false },
      { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          { type: dns, value: "localhost" },
          { type: ip, ip: "127.0.0.1" },
        ],
      },
    ]);
    certificate.sign(this.#keys.privateKey, forge.md.sha256.create());
    return { cert: forge.pki.certificateToPem(certificate), key: keys.pem };
  }

  /** Writes `ca.pem`, and `cert.pem` and `key.pem` of a new certificate, into the folder. */
  async writeTo(
    folder: string,
  ): Promise<{ readonly caFile: string; readonly certFile: string; readonly keyFile: string }> {
    const { cert, key } = this.issue();
    const files = {
      caFile: join(folder, "ca.pem"),
      certFile: join(folder, "cert.pem"),
      keyFile: join(folder, "key.pem"),
    };
    await writeFile(files.caFile, this.ca);
    await writeFile(files.certFile, cert);
    await writeFile(files.keyFile, key, { mode: 0o600 });
    return files;
  }

  #blank(publicKey: forge.pki.rsa.PublicKey, subject: forge.pki.CertificateField[]): forge.pki.Certificate {
    const certificate = forge.pki.createCertificate();
    certificate.publicKey = publicKey;
    // A first bit that is set would make the number negative.
    certificate.serialNumber = `01${randomBytes(15).toString("hex")}`;
    certificate.validity.notBefore = new Date(Date.now() - dayMs);
    certificate.validity.notAfter = new Date(Date.now() + 30 * dayMs);
    certificate.setSubject(subject);
    certificate.setIssuer(this.#subject);
    return certificate;
  }
}
