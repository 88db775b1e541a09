import { readFileSync } from 'node:fs';
import type { CallParts, OpenUpstream } from '../calls/governed-request.js';
import { type Destination, UpstreamChooser } from '../calls/upstream-choice.js';
import type { GatewayConfig, HttpUpstream } from '../file/gateway-config.js';
import type { McpHost } from '../mcp/mcp-host.js';
import { SecretStore } from '../secrets/secret-store.js';
import { credentialSources } from '../upstream/credentials.js';
import { UpstreamClient } from '../upstream/upstream-client.js';
import { UpstreamCredentials } from '../upstream/upstream-credentials.js';
import type { GatewayLog } from './log.js';

/** All that is made of one reading of the file. A request uses one state from its beginning to its end. */
export class GatewayState {
  readonly chooser: UpstreamChooser;
  private readonly upstreams: ReadonlyMap<string, OpenUpstream>;
  private users = 0;
  private isReplaced = false;

  private constructor(
    readonly config: GatewayConfig,
    readonly secrets: SecretStore,
    private readonly mcpHosts: ReadonlyMap<string, McpHost>,
  ) {
    this.chooser = new UpstreamChooser(config);
    const served = config.upstreams.flatMap((upstream) => (upstream.kind === 'http' ? [upstream] : []));
    this.upstreams = new Map(served.map((upstream) => [upstream.name, openUpstream(upstream, secrets)]));
  }

  /** @throws SecretFaults if a secret is missing or cannot be used; SettingsError if a file of an MCP upstream cannot be used */
  static async open(config: GatewayConfig, log: GatewayLog, parts: CallParts): Promise<GatewayState> {
    const sources = config.upstreams.flatMap(({ credentials }) => credentialSources(credentials));
    const onFault = ({ message }: Error): void => log.warn(`${message} The last value stays in use.`);
    const secrets = await SecretStore.open(sources, { environment: process.env, onFault });
    try {
      return new GatewayState(config, secrets, await openMcpHosts(config, secrets, parts));
    } catch (error) {
      secrets.close();
      throw error;
    }
  }

  findMcp(name: string): McpHost | undefined {
    return this.mcpHosts.get(name);
  }

  /** Where clients reach the gateway. @param host as the client sent it */
  originOf(host: string): string {
    const { publicUrl, tls } = this.config;
    const isPublic = publicUrl !== undefined && publicUrl.host === host.toLowerCase();
    return isPublic ? publicUrl.origin : `${tls === undefined ? 'http' : 'https'}://${host}`;
  }

  /** Ends the sessions of MCP once no call of them runs. */
  async endSessions(): Promise<void> {
    const hosts = [...this.mcpHosts.values()];
    await Promise.all(hosts.map((host) => host.settle()));
    await Promise.all(hosts.map((host) => host.close()));
  }

  /** Undefined for an upstream of MCP. */
  find(name: string): OpenUpstream | undefined {
    return this.upstreams.get(name);
  }

  /** Where the client reaches an upstream, without a final `/`. @param host as the client sent it */
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

  /** Another state takes the place of this one. */
  async replace(): Promise<void> {
    this.isReplaced = true;
    if (this.users === 0) await this.close();
    // Their standing connections would keep this state.
    else await this.endSessions();
  }

  async close(): Promise<void> {
    this.secrets.close();
    await Promise.all([...this.upstreams.values()].map(({ client }) => client.close()));
    await Promise.all([...this.mcpHosts.values()].map((host) => host.close()));
  }
}

/** MCP is loaded only for a file that needs it. */
async function openMcpHosts(
  { upstreams, service }: GatewayConfig,
  secrets: SecretStore,
  parts: CallParts,
): Promise<Map<string, McpHost>> {
  const configs = upstreams.flatMap((upstream) => (upstream.kind === 'mcp' ? [upstream] : []));
  if (configs.length === 0) return new Map();
  const { McpHost: Host } = await import('../mcp/mcp-host.js');
  const url = service.href.replace(/\/$/, '');
  return new Map(configs.map((config) => [config.name, new Host({ config, service: url, secrets, parts })]));
}

function openUpstream(config: HttpUpstream, secrets: SecretStore): OpenUpstream {
  const credentials = new UpstreamCredentials(config.credentials, secrets);
  return { config, client: new UpstreamClient(config), credentials };
}

/** The texts of the certificate and its key. */
export function readTls({ tls }: GatewayConfig): { readonly cert: string; readonly key: string } | null {
  return tls === undefined ? null : { cert: readFileSync(tls.cert, 'utf8'), key: readFileSync(tls.key, 'utf8') };
}
