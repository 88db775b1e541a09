const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns the bytes as lower-case hex.
 * @param {Uint8Array} bytes
 */
export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} hex */
export function bytesOfHex(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/**
 * @param {string} text
 * @returns {Uint8Array | undefined} undefined where it is not base64url without padding, or not in its only spelling
 */
export function bytesOfBase64Url(text) {
  if (/[+/=]/.test(text)) return undefined;
  const padding = '='.repeat((4 - (text.length % 4)) % 4);
  return bytesOfBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding);
}

/** @param {Uint8Array} bytes */
export function base64UrlOf(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * @param {string} text
 * @returns {Uint8Array | undefined} undefined where it is not base64, or not in its only spelling
 */
export function bytesOfBase64(text) {
  if (!BASE64.test(text)) return undefined;
  const decoded = atob(text);
  return btoa(decoded) === text ? Uint8Array.from(decoded, (character) => character.charCodeAt(0)) : undefined;
}
