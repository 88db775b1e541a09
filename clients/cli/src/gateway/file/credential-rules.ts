import type { Credential, SecretText } from './gateway-config.js';
import type { CredentialInput } from './gateway-input.js';
import type { FaultList } from './fault-list.js';
import type { FilePath } from './document.js';
import { credentialHeaders, sentHeaderFault } from './header-rules.js';
import { foldName } from '../request/fold-name.js';

const REFERENCE = /\$\{(env|file):([^}]*)\}/g;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const VISIBLE = /^[\x20-\x7e]*$/;

/** The credentials of an upstream; those with a fault are left out. */
export function readCredentials(
  inputs: readonly (CredentialInput | undefined)[],
  path: FilePath,
  faults: FaultList,
): Credential[] {
  const credentials = inputs.flatMap((input, index) => {
    const credential = input === undefined ? null : readCredential(input, [...path, index], faults);
    return credential === null ? [] : [credential];
  });
  const targets = [...credentialHeaders(credentials), ...credentialQueries(credentials).map((name) => `?${name}`)];
  if (new Set(targets).size < targets.length) faults.add(path, 'must not have two credentials at the same place');
  return credentials;
}

/** The query parameters in which credentials are sent, as {@link foldName} writes them. */
export function credentialQueries(credentials: readonly Credential[]): string[] {
  return credentials.flatMap((credential) => (credential.kind === 'query' ? [foldName(credential.name)] : []));
}

/** All texts with secrets of a credential, and where the file has them. */
export function secretTextsOf(credential: Credential): readonly { readonly at: FilePath; readonly text: SecretText }[] {
  if (credential.kind !== 'basic') return [{ at: ['value'], text: credential.value }];
  const password = { at: ['basic', 'password'], text: credential.password };
  return typeof credential.user === 'string'
    ? [password]
    : [{ at: ['basic', 'user'], text: credential.user }, password];
}

function readCredential(
  { header, query, value, basic }: CredentialInput,
  path: FilePath,
  faults: FaultList,
): Credential | null {
  if (basic !== undefined) return readBasic(basic, [...path, 'basic'], faults);
  const text = value === undefined ? null : readSecretText(value, [...path, 'value'], faults);
  if (header !== undefined) {
    const name = header.toLowerCase();
    const fault = sentHeaderFault(name);
    if (fault !== undefined) return faults.reject([...path, 'header'], fault);
    return text === null ? null : { kind: 'header', name, value: text };
  }
  if (query === undefined) return null;
  if (!/^[A-Za-z0-9._~-]+$/.test(query))
    return faults.reject(
      [...path, 'query'],
      'must be the name of a query parameter: letters, digits, "-", ".", "_" and "~"',
    );
  return text === null ? null : { kind: 'query', name: query, value: text };
}

function readBasic(
  { user, password }: NonNullable<CredentialInput['basic']>,
  path: FilePath,
  faults: FaultList,
): Credential | null {
  const secret = password === undefined ? null : readSecretText(password, [...path, 'password'], faults);
  const name = user === undefined ? null : readUser(user, [...path, 'user'], faults);
  return secret === null || name === null ? null : { kind: 'basic', user: name, password: secret };
}

function readUser(user: string, path: FilePath, faults: FaultList): SecretText | string | null {
  if (user.includes('${')) return readSecretText(user, path, faults);
  return VISIBLE.test(user) && !user.includes(':')
    ? user
    : faults.reject(path, 'must have visible ASCII characters, and no ":"');
}

/** @returns null after adding a fault, which never contains the text: it may be a credential */
function readSecretText(text: string, path: FilePath, faults: FaultList): SecretText | null {
  const [reference, ...more] = [...text.matchAll(REFERENCE)];
  if (reference === undefined || more.length > 0) {
    return faults.reject(
      path,
      'must have exactly one ${env:NAME} or ${file:/path}: no credential is written in the file itself',
    );
  }
  const [whole, kind, name = ''] = reference;
  const before = text.slice(0, reference.index);
  const after = text.slice(reference.index + whole.length);
  if (!VISIBLE.test(before) || !VISIBLE.test(after) || `${before}${after}`.includes('${'))
    return faults.reject(path, 'must have visible ASCII characters before and after its reference');
  if (kind === 'file') {
    if (!name.startsWith('/'))
      return faults.reject(path, 'must name a file from the root, for example ${file:/run/secrets/key}');
    return { before, source: { file: name }, after };
  }
  if (!VARIABLE.test(name)) return faults.reject(path, 'must name a variable, for example ${env:PAYMENTS_KEY}');
  if (/^GOVERNANCE_/i.test(name))
    return faults.reject(path, 'must not name GOVERNANCE_…: these are keys of the service');
  return { before, source: { env: name }, after };
}
