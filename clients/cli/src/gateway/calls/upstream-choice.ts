import { isIP } from 'node:net';
import type { GatewayConfig, HttpUpstream, McpUpstream } from '../file/gateway-config.js';
import { Refusal } from './refusal.js';

/** The head of a request before anything of it is trusted. */
export interface AddressedRequest {
  /** Path and query as they came. */
  readonly target: string;
  /** All values of the header `Host`. */
  readonly hosts: readonly string[];
  /** All values of the header `Origin`. */
  readonly origins: readonly string[];
}

/** An upstream with the target below it, or a path of the gateway's own. */
export type Destination =
  | { readonly upstream: HttpUpstream | McpUpstream; readonly target: string }
  | { readonly upstream: null; readonly target: string };

/** Matches the paths that the gateway answers itself. */
const OWN_PATH = /^\/(?:-|\.well-known)\//;
const LOOPBACK = /^(?:127\.|::1$|localhost$)/;

/** Finds the upstream of a request by its `Host`, else by the first segment of its path. */
export class UpstreamChooser {
  private readonly byHost = new Map<string, HttpUpstream | McpUpstream>();
  private readonly byName = new Map<string, HttpUpstream | McpUpstream>();
  private readonly ownHosts: ReadonlySet<string>;

  constructor({ upstreams, listen, publicUrl, names }: GatewayConfig) {
    for (const upstream of upstreams) {
      this.byName.set(upstream.name, upstream);
      for (const host of upstream.hosts) this.byHost.set(hostName(host), upstream);
    }
    const texts = [listen.host, ...(LOOPBACK.test(listen.host) ? ['localhost'] : []), ...names];
    this.ownHosts = new Set([...texts, ...(publicUrl === undefined ? [] : [publicUrl.hostname])].map(hostName));
  }

  /** @throws Refusal 421 for another host, 403 for another origin, 404 for an upstream that the file lacks */
  choose({ target, hosts, origins }: AddressedRequest): Destination {
    const [host = '', ...others] = hosts;
    const name = hostName(withoutPort(host));
    const byHost = others.length === 0 ? this.byHost.get(name) : undefined;
    if (byHost === undefined && (others.length > 0 || !this.ownHosts.has(name)))
      throw new Refusal(421, 'host_unknown', `No upstream is served as ${JSON.stringify(host)}: see hosts and names.`);
    if (!origins.every((origin) => this.isOwnOrigin(origin)))
      throw new Refusal(403, 'origin_unknown', 'Web pages of other origins cannot use the gateway.');
    if (byHost !== undefined) return { upstream: byHost, target };
    if (!target.startsWith('/')) throw new Refusal(400, 'path_ambiguous', 'The target must begin with "/".');
    if (OWN_PATH.test(target)) return { upstream: null, target };
    const [, first = '', rest = ''] = /^\/([^/?]*)(.*)$/s.exec(target) ?? [];
    const upstream = this.byName.get(first);
    if (upstream === undefined)
      throw new Refusal(404, 'upstream_unknown', 'The first segment of the path names no upstream.');
    return { upstream, target: rest.startsWith('/') ? rest : `/${rest}` };
  }

  /** True if requests with this `Host` go to an upstream with their path as it is. */
  isByHost(host: string): boolean {
    return this.byHost.has(hostName(withoutPort(host)));
  }

  private isOwnOrigin(origin: string): boolean {
    if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
    const name = hostName(new URL(origin).hostname);
    return this.ownHosts.has(name) || this.byHost.has(name);
  }
}

/** Returns a host name in lower case, without brackets and a final dot. */
function hostName(text: string): string {
  const name = text.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  const url = `http://[${name}]`;
  // Equal addresses of IPv6 have many spellings. One with a zone is in no URL.
  if (isIP(name) === 6 && URL.canParse(url)) return new URL(url).hostname.slice(1, -1);
  return name.replace(/\.$/, '');
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '');
}
