import type { HttpUpstream, Route } from '../file/gateway-config.js';
import { resourcePathFault } from '../../service-rules/resources.js';
import { decodePercent } from '../../service-rules/percent-encoding.js';
import { checkHeaders, type RequestHeaders } from './header-check.js';
import { isRefusal, pathAmbiguous, type RequestRefusal } from './request-refusal.js';
import { RouteTable } from './route-table.js';

/** The head of a request, without the caller's key. */
export interface RequestHead {
  readonly method: string;
  /** Path and query below the upstream. */
  readonly target: string;
  /** Names and values in turn, as Node.js has them. */
  readonly rawHeaders: readonly string[];
}

/** A request's head with the route that decides what it is. */
export interface RouteMatch {
  readonly upstream: HttpUpstream;
  readonly route: Route;
  readonly method: string;
  readonly path: string;
  /** The query as it was sent, without `?`; undefined without one. */
  readonly query: string | undefined;
  /** Maps the names of the route's path to the values that were sent. */
  readonly pathValues: Readonly<Record<string, string>>;
  readonly headers: RequestHeaders;
}

const VISIBLE_ASCII = /^\/[\x21-\x22\x24-\x7e]*$/;

/**
 * Characters of a path, of which most servers take 8,000. The path is compared with each of the routes before anybody
 * was asked, and half a second would pass over 60,000 characters and 2,000 routes.
 */
const MAX_PATH_LENGTH = 4_096;

const tables = new WeakMap<HttpUpstream, RouteTable>();

/** Finds the route of a request. This is the first step: `buildAction` reads the body. */
export function matchRequest(
  upstream: HttpUpstream,
  { method, target, rawHeaders }: RequestHead,
): RouteMatch | RequestRefusal {
  const headers = checkHeaders(rawHeaders, upstream);
  if (isRefusal(headers)) return headers;
  const { path, query } = splitTarget(target);
  const fault = targetFault(target, path);
  if (fault !== undefined) return pathAmbiguous(fault);
  const found = tableOf(upstream).find(method, path);
  if (found === undefined) return notListed(upstream.name, method);
  if ('ambiguousWith' in found) {
    return pathAmbiguous(
      `An upstream could read this path as one of the earlier route ${found.ambiguousWith.match}: write it as the routes have it.`,
    );
  }
  if (headers.encodings.some((encoding) => encoding.trim().toLowerCase() !== 'identity')) {
    return {
      status: 415,
      reason: 'body_encoded',
      message: 'The body has a Content-Encoding, so nobody could see what it contains: send it as it is.',
    };
  }
  return { upstream, ...found, method, path, query, headers };
}

function tableOf(upstream: HttpUpstream): RouteTable {
  const table = tables.get(upstream) ?? new RouteTable(upstream.routes);
  tables.set(upstream, table);
  return table;
}

function splitTarget(target: string): { path: string; query: string | undefined } {
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: undefined } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

function targetFault(target: string, path: string): string | undefined {
  if (!VISIBLE_ASCII.test(target))
    return 'The target must begin with "/", and have visible ASCII characters without "#": percent-encode others.';
  if (path.length > MAX_PATH_LENGTH) return `The path must have at most ${MAX_PATH_LENGTH} characters.`;
  if (path === '/') return undefined;
  // A path of a single segment is a path here, not a name.
  const fault = resourcePathFault(path) ?? (/[?#;]/.test(decodePercent(path)) ? 'must not contain ";"' : undefined);
  return fault === undefined ? undefined : `The path ${fault}.`;
}

function notListed(upstream: string, method: string): RequestRefusal {
  return {
    status: 403,
    reason: 'route_not_listed',
    message: `No route of the upstream ${upstream} matches this path with the method ${JSON.stringify(method)}: see the gateway's file.`,
  };
}
