import type { Credential, SecretText } from '../file/gateway-config.js';
import type { SecretSource } from '../secrets/secret-value.js';
import type { HeaderPair } from './request-headers.js';

/** The headers and query with which a request to an upstream carries its credentials. */
export interface SentCredentials {
  readonly headers: readonly HeaderPair[];
  /** Joined by `&`, without `?`; empty if there are none. */
  readonly query: string;
}

/** @param valueOf gives the value of a secret. */
export function buildCredentials(
  credentials: readonly Credential[],
  valueOf: (source: SecretSource) => string,
): SentCredentials {
  const headers: HeaderPair[] = [];
  const query: string[] = [];
  const textOfSecret = ({ before, source, after }: SecretText): string => before + valueOf(source) + after;
  for (const credential of credentials) {
    if (credential.kind === 'query') {
      query.push([credential.name, textOfSecret(credential.value)].map(encodeURIComponent).join('='));
    } else if (credential.kind === 'header') {
      headers.push([credential.name, utf8InHeader(textOfSecret(credential.value))]);
    } else {
      const user = typeof credential.user === 'string' ? credential.user : textOfSecret(credential.user);
      headers.push(['authorization', `Basic ${base64(`${user}:${textOfSecret(credential.password)}`)}`]);
    }
  }
  return { headers, query: query.join('&') };
}

/**
 * Returns all texts that an answer must not show: each secret as it is; in base64 alone, with the user, and with the
 * other half empty; and its part in the base64 of any longer text.
 *
 * @param valuesOf gives the values that a secret has, or had until lately.
 */
export function credentialForms(
  credentials: readonly Credential[],
  valuesOf: (source: SecretSource) => readonly string[],
): string[] {
  const forms = new Set<string>();
  for (const credential of credentials) {
    const secretTexts = secretTextsOf(credential);
    for (const value of secretTexts.flatMap(({ source }) => valuesOf(source))) {
      addForms(forms, value);
    }
    if (credential.kind !== 'basic') continue;
    const { user, password } = credential;
    for (const userText of typeof user === 'string' ? [user] : textsOf(user, valuesOf)) {
      for (const passwordText of textsOf(password, valuesOf)) addBase64(forms, `${userText}:${passwordText}`);
    }
  }
  return [...forms];
}

/** The texts that an answer must not show for secrets of other credentials. */
export function secretForms(values: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const value of values) addForms(forms, value);
  return [...forms];
}

/** Every source that the credentials read. */
export function credentialSources(credentials: readonly Credential[]): SecretSource[] {
  return credentials.flatMap((credential) => secretTextsOf(credential).map(({ source }) => source));
}

function secretTextsOf(credential: Credential): readonly SecretText[] {
  if (credential.kind !== 'basic') return [credential.value];
  return typeof credential.user === 'string' ? [credential.password] : [credential.user, credential.password];
}

function textsOf(text: SecretText, valuesOf: (source: SecretSource) => readonly string[]): string[] {
  return valuesOf(text.source).map((value) => text.before + value + text.after);
}

function addForms(forms: Set<string>, value: string): void {
  forms.add(value);
  for (const text of [value, `${value}:`, `:${value}`]) addBase64(forms, text);
  for (const part of base64Parts(value)) addAlphabets(forms, part);
}

/** Adds the standard and the URL-safe alphabet, each with and without padding. */
function addBase64(forms: Set<string>, text: string): void {
  const padded = base64(text);
  for (const form of [padded, padded.replace(/=+$/, '')]) addAlphabets(forms, form);
}

function addAlphabets(forms: Set<string>, form: string): void {
  forms.add(form);
  forms.add(form.replaceAll('+', '-').replaceAll('/', '_'));
}

/** Base64 has four characters for three bytes. */
const GROUP_BYTES = 3;
const CHARACTER_BITS = 6;
const BYTE_BITS = 8;

/**
 * Returns the parts that the base64 of every longer text has for this one: the characters that depend on nothing else,
 * for each alignment.
 */
function base64Parts(text: string): string[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: GROUP_BYTES }, (_, before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    const start = Math.ceil((before * BYTE_BITS) / CHARACTER_BITS);
    return all.toString('base64').slice(start, Math.floor((all.length * BYTE_BITS) / CHARACTER_BITS));
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Headers are written as Latin-1: this is the text whose Latin-1 bytes are the UTF-8 of the value. */
function utf8InHeader(value: string): string {
  return Buffer.from(value).toString('latin1');
}
