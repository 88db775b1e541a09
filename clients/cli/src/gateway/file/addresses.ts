import { isIP, isIPv4 } from 'node:net';

export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

const SOCKET_ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/;
const MAX_PORT = 65_535;

/** An IP address or `localhost`, and a port; undefined for any other text. */
export function parseSocketAddress(text: string): SocketAddress | undefined {
  const [, bracketed, plain = '', digits] = SOCKET_ADDRESS.exec(text) ?? [];
  const host = bracketed ?? plain.toLowerCase();
  const isHost = bracketed === undefined ? isIPv4(host) || host === 'localhost' : isIP(host) === 6;
  const port = Number(digits);
  return isHost && port <= MAX_PORT ? { host, port } : undefined;
}

/** True if only programs of the same machine reach the host: an address, or a name as `URL` has it. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, '');
  if (isIPv4(plain)) return plain.startsWith('127.');
  return plain === 'localhost' || plain === '::1';
}

/** A host name or an address as `URL` writes it, without a final dot; undefined for any other text. */
export function parseHostName(text: string): string | undefined {
  // A URL may have all of these, which would not be a part of its host.
  if (/[\s/?#@\\*%]/.test(text) || !URL.canParse(`http://${text}/`)) return undefined;
  const { hostname, host } = new URL(`http://${text}/`);
  const isAlone = hostname === host && !/:\d+$/.test(text.replace(/^\[[^\]]*\]/, ''));
  const name = hostname.replace(/\.$/, '');
  return isAlone && name !== '' ? name : undefined;
}
