import type { GatewayConfig } from '../file/gateway-config.js';

/** The metadata of RFC 9728 for an MCP upstream. */
export interface ProtectedResource {
  readonly resource: string;
  readonly authorization_servers?: readonly string[];
  readonly scopes_supported: readonly string[];
  readonly bearer_methods_supported: readonly string[];
}

const METADATA = /^\/\.well-known\/oauth-protected-resource\/([a-z][a-z0-9-]{0,39})\/mcp$/;

/** Null unless the path is that of the metadata of an MCP upstream. @param origin where clients reach the gateway */
export function protectedResource(path: string, origin: string, config: GatewayConfig): ProtectedResource | null {
  const [, name] = METADATA.exec(path) ?? [];
  if (!config.upstreams.some((upstream) => upstream.kind === 'mcp' && upstream.name === name)) return null;
  return {
    resource: `${origin}/${String(name)}/mcp`,
    ...(config.issuers.length > 0 && { authorization_servers: config.issuers }),
    scopes_supported: ['execute'],
    bearer_methods_supported: ['header'],
  };
}

/** Value of `WWW-Authenticate`. */
export function challenge(name: string, origin: string): string {
  const metadata = `${origin}/.well-known/oauth-protected-resource/${name}/mcp`;
  return `Bearer resource_metadata="${metadata}", scope="execute"`;
}
