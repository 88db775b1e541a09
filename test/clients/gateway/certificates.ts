import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes certificates; tests that need one are skipped without it. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stdout.write('SKIPPED: upstreams over HTTPS need openssl to make a certificate.\n');

export interface Certificate {
  /** Path of the file. */
  readonly path: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate that nobody vouches for. @param name a host name. */
export function makeCertificate(folder: string, name: string): Certificate {
  const [path, keyPath] = [`${name}.pem`, `${name}.key`].map((file) => join(folder, file)) as [string, string];
  const about = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-days', '2'];
  const files = ['-keyout', keyPath, '-out', path];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...about], { stdio: 'ignore' });
  return { path, cert: readFileSync(path, 'utf8'), key: readFileSync(keyPath, 'utf8') };
}
