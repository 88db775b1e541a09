import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { NextFunction, Response } from 'express';
import { embeddedIpv4, ipv6Groups } from '../../core/values/ip-address';
import { headerValues, type ServiceRequest } from './service-request';

const SECRET_HEADERS = ['x-api-key', 'authorization'];
/** Most consecutive characters of a secret that may appear in an id. */
const LONGEST_SHOWN = 7;
const USABLE_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Paths of standards that require any id to be echoed. */
const STANDARD_PATH = /^\/(?:access\/v1\/|\.well-known\/)/;
const VISIBLE_ID = /^[\x21-\x7e]{1,128}$/;

/** Gives the request its id, which is echoed, and notes who sent it, before anything can fail. */
export function noteArrival(request: ServiceRequest, response: Response, next: NextFunction): void {
  const { 'x-request-id': asked } = request.headers;
  // The id is logged, returned and audited, where a key must never appear.
  const isShowing =
    typeof asked === 'string' &&
    SECRET_HEADERS.some((name) => headerValues(request, name).some((secret) => shows(asked, secret)));
  const usable = STANDARD_PATH.test(request.url) ? VISIBLE_ID : USABLE_ID;
  request.id = requestIdFor(isShowing ? undefined : asked, usable);
  response.setHeader('X-Request-Id', request.id);
  request.address = addressOf(request);
  request.client = countedClient(request.address);
  next();
}

/** Whether a text contains enough of a secret to be of use, or all of a short one. */
function shows(text: string, secret: string): boolean {
  if (secret === '') return false;
  const length = Math.min(secret.length, LONGEST_SHOWN + 1);
  for (let at = 0; at + length <= text.length; at += 1) if (secret.includes(text.slice(at, at + length))) return true;
  return false;
}

/** The id a client asked for if it is usable, otherwise a new one. */
export function requestIdFor(asked: string | string[] | undefined, usable = USABLE_ID): string {
  return typeof asked === 'string' && usable.test(asked) ? asked : randomUUID();
}

const GROUPS_IN_A_SITE = 4;

/**
 * The socket's address, or what trusted proxies report (Express `trust proxy`); if a proxy passed on something that is
 * not an address, the proxy's own.
 */
function addressOf(request: ServiceRequest): string {
  // Without that header the socket's address is all there is to say.
  const stated = request.headers['x-forwarded-for'] === undefined ? '' : (request.ip ?? '');
  return unmapped(isIP(stated) === 0 ? (request.socket.remoteAddress ?? '') : stated);
}

/**
 * The client to count a request for: an IPv4 address, or the /64 of an IPv6 address, since one client has all of it.
 */
export function countedClient(address: string): string {
  return address.includes(':') ? ipv6Site(address) : address;
}

/** An IPv4-mapped address as IPv4. */
export function unmapped(address: string): string {
  if (!address.includes(':')) return address;
  const groups = ipv6Groups(address);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? embeddedIpv4(groups, 6) : address;
}

function ipv6Site(address: string): string {
  const site = ipv6Groups(address).slice(0, GROUPS_IN_A_SITE);
  return `${site.map((group) => group.toString(16)).join(':')}::/64`;
}
