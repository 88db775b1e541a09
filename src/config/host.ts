import { isIP } from 'node:net';

/** An IP address or a host name; undefined when the text is neither. */
export function parseHost(text: string): string | undefined {
  if (isIP(text) !== 0) return text;
  const looksLikeAddress = /^[\d.]+$/.test(text);
  const isName = text.length <= 253 && /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i.test(text);
  return isName && !looksLikeAddress ? text : undefined;
}
