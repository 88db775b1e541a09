import { isIP } from 'node:net';
import type { ServiceRequest } from './service-request';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const GROUPS_IN_IPV6 = 8;
const GROUPS_IN_A_SITE = 4;

/**
 * The client's address: the socket's, or what trusted proxies report (Express `trust proxy`). An IPv4-mapped address is
 * shown as IPv4. If a proxy passed on something that is not an address, the proxy's own counts.
 */
export function clientAddress(request: ServiceRequest): string {
  // Express parses the proxies' header every time it is asked.
  request.address ??= readAddress(request);
  return request.address;
}

function readAddress(request: ServiceRequest): string {
  // Without that header the socket's address is all there is to say.
  const stated = request.headers['x-forwarded-for'] === undefined ? '' : (request.ip ?? '');
  const address = isIP(stated) === 0 ? (request.socket.remoteAddress ?? '') : stated;
  return unmapped(address);
}

/**
 * The client to count a request for: an IPv4 address, or the /64 of an IPv6 address, since one client has all of it.
 */
export function countedClient(address: string): string {
  return address.includes(':') ? ipv6Site(address) : address;
}

export function unmapped(address: string): string {
  if (!address.includes(':')) {
    return address;
  }
  const dotted = MAPPED_IPV4.exec(address)?.[1];
  return dotted ?? unmappedHexadecimal(address);
}

function unmappedHexadecimal(address: string): string {
  const groups = ipv6Groups(address);
  const [high, low] = [groups[6], groups[7]];
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (!isMapped || high === undefined || low === undefined) {
    return address;
  }
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

function ipv6Site(address: string): string {
  const site = ipv6Groups(address).slice(0, GROUPS_IN_A_SITE);
  return `${site.map((group) => group.toString(16)).join(':')}::/64`;
}

function ipv6Groups(address: string): number[] {
  const [withoutZone = ''] = address.split('%');
  const [head = '', tail] = withoutZone.split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const gap = Math.max(0, GROUPS_IN_IPV6 - front.length - back.length);
  return [...front, ...new Array<number>(gap).fill(0), ...back];
}

function groupsOf(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
}
