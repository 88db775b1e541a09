/** The metadata of RFC 9728 for an MCP upstream. */
export interface ProtectedResource {
  readonly resource: string;
  readonly authorization_servers?: readonly string[];
  readonly scopes_supported: readonly string[];
  readonly bearer_methods_supported: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** Path of the metadata of an upstream that has a host of its own. */
export const METADATA_OF_HOST = `${WELL_KNOWN}/mcp`;
const METADATA_OF_NAME = /^\/\.well-known\/oauth-protected-resource\/([a-z][a-z0-9-]{0,39})\/mcp$/;

/** Name of the upstream whose metadata a path of the gateway's own is; undefined for other paths. */
export function metadataName(path: string): string | undefined {
  return METADATA_OF_NAME.exec(path)?.[1];
}

/** @param resource URL at which clients reach the upstream */
export function protectedResource(resource: string, issuers: readonly string[]): ProtectedResource {
  return {
    resource,
    ...(issuers.length > 0 && { authorization_servers: issuers }),
    scopes_supported: ['execute'],
    bearer_methods_supported: ['header'],
  };
}

/** Value of `WWW-Authenticate`. @param resource URL at which clients reach the upstream */
export function challenge(resource: string): string {
  // A client may name any port in its `Host`, also one that no URL has.
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]*)(.*)$/.exec(resource) ?? [];
  return `Bearer resource_metadata="${origin}${WELL_KNOWN}${path}", scope="execute"`;
}
