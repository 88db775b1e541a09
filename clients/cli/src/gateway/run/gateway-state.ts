import type { CallParts, OpenUpstream } from '../calls/governed-request.js';
import { type Destination, UpstreamChooser } from '../calls/upstream-choice.js';
import type { GatewayConfig, HttpUpstream } from '../file/gateway-config.js';
import type { McpHost } from '../mcp/mcp-host.js';
import { SecretStore } from '../secrets/secret-store.js';
import { credentialSources } from '../upstream/credentials.js';
import { UpstreamClient } from '../upstream/upstream-client.js';
import { MCP_PATH } from '../mcp/mcp-path.js';
import { UpstreamCredentials } from '../upstream/upstream-credentials.js';
import type { GatewayLog } from './log.js';

/** Everything that one reading of the file leads to. A request uses one state from its beginning to its end. */
export class GatewayState {
  readonly chooser: UpstreamChooser;
  private users = 0;
  private isReplaced = false;

  private constructor(
    readonly config: GatewayConfig,
    readonly secrets: SecretStore,
    private readonly upstreams: ReadonlyMap<string, OpenUpstream | McpHost>,
  ) {
    this.chooser = new UpstreamChooser(config);
  }

  /**
   * @param replaced the state that this one takes the place of
   * @throws SecretFaults if a secret is missing or cannot be used; SettingsError if a file of an MCP upstream cannot be
   *   used
   */
  static async open(
    config: GatewayConfig,
    log: GatewayLog,
    parts: CallParts,
    replaced?: GatewayState,
  ): Promise<GatewayState> {
    const sources = config.upstreams.flatMap(({ credentials }) => credentialSources(credentials));
    const onFault = ({ message }: Error): void => log.warn(`${message} The last value stays in use.`);
    const secrets = await SecretStore.open(sources, {
      environment: process.env,
      onFault,
      ...(replaced !== undefined && { replaced: replaced.secrets }),
    });
    try {
      return new GatewayState(config, secrets, await openUpstreams(config, secrets, parts));
    } catch (error) {
      secrets.close();
      throw error;
    }
  }

  /** @param name of an upstream of the file */
  upstream(name: string): OpenUpstream | McpHost {
    const upstream = this.upstreams.get(name);
    if (upstream === undefined) throw new Error(`The upstream ${name} is not open.`);
    return upstream;
  }

  /** Returns the origin at which clients reach the gateway. @param host as the client sent it */
  originOf(host: string): string {
    const { publicUrl, tls } = this.config;
    if (publicUrl !== undefined && publicUrl.host === host.toLowerCase()) return publicUrl.origin;
    // A proxy that ends TLS in front of the gateway does so for the hosts of upstreams, too.
    const isSecure = tls !== undefined || (publicUrl !== undefined && this.chooser.isByHost(host));
    return `${isSecure ? 'https' : 'http'}://${host}`;
  }

  /** Returns the address of an MCP upstream: at its own host if the client used that. @param host as the client sent it */
  mcpUrl(host: string, name: string): string {
    if (this.chooser.isByHost(host)) return `${this.originOf(host)}${MCP_PATH}`;
    return `${this.config.publicUrl?.origin ?? this.originOf(host)}/${name}${MCP_PATH}`;
  }

  /** Ends the sessions of MCP once no call of them runs. */
  async endSessions(): Promise<void> {
    const hosts = [...this.upstreams.values()].flatMap((upstream) => (upstream.kind === 'mcp' ? [upstream] : []));
    await Promise.all(hosts.map((host) => host.settle()));
    await Promise.all(hosts.map((host) => host.close()));
  }

  /** Returns the address of an upstream, without a final `/`. @param host as the client sent it */
  baseOf(host: string, { upstream }: Destination): string {
    const origin = this.originOf(host);
    return upstream === null || this.chooser.isByHost(host) ? origin : `${origin}/${upstream.name}`;
  }

  /** Runs a request with this state: its connections stay until the request has ended. */
  async during(run: () => Promise<void>): Promise<void> {
    this.users += 1;
    try {
      await run();
    } finally {
      this.users -= 1;
      if (this.isReplaced && this.users === 0) await this.close();
    }
  }

  /** Another state takes the place of this one. @param successor whose secrets the answers of this one must not show */
  async replace(successor: GatewayState): Promise<void> {
    this.secrets.replace(successor.secrets);
    this.isReplaced = true;
    if (this.users === 0) await this.close();
    // The standing connections of sessions would keep this state.
    else await this.endSessions();
  }

  async close(): Promise<void> {
    this.secrets.close();
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }
}

/** MCP is loaded only for a file that needs it. */
async function openUpstreams(
  { upstreams, service }: GatewayConfig,
  secrets: SecretStore,
  parts: CallParts,
): Promise<Map<string, OpenUpstream | McpHost>> {
  const url = service.href.replace(/\/$/, '');
  const hosts = upstreams.some(({ kind }) => kind === 'mcp') ? await import('../mcp/mcp-host.js') : null;
  return new Map(
    upstreams.flatMap((config): [string, OpenUpstream | McpHost][] => {
      if (config.kind === 'http') return [[config.name, openUpstream(config, secrets)]];
      return hosts === null ? [] : [[config.name, new hosts.McpHost({ config, service: url, secrets, parts })]];
    }),
  );
}

function openUpstream(config: HttpUpstream, secrets: SecretStore): OpenUpstream {
  const credentials = new UpstreamCredentials(config.credentials, secrets);
  const client = new UpstreamClient(config);
  return { kind: 'http', config, client, credentials, close: () => client.close() };
}
