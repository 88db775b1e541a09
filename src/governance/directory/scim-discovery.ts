import { requireFound } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { listResponse } from './scim-responses';
import { GROUP_SCHEMA, schemaDescriptions, USER_SCHEMA } from './scim-schema';

/** Most users or groups in a response. */
export const MAX_PAGE = 200;

/** Describes the supported parts of the protocol. */
export function providerConfig(base: string): JsonObject {
  const [supported, unsupported] = [{ supported: true }, { supported: false }];
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: supported,
    bulk: { ...unsupported, maxOperations: 0, maxPayloadSize: 0 },
    filter: { ...supported, maxResults: MAX_PAGE },
    changePassword: unsupported,
    sort: unsupported,
    etag: unsupported,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'A key of the service',
        description: 'A key with the scope "directory", as Authorization: Bearer <key>.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string): JsonObject {
  return listOf(['User', 'Group'].map((name) => resourceType(name, base)));
}

/** @throws NOT_FOUND */
export function resourceType(id: string, base: string): JsonObject {
  const schema = requireFound({ User: USER_SCHEMA, Group: GROUP_SCHEMA }[id], 'resource type');
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    ...{ id, name: id, endpoint: `/${id}s`, schema },
    description: id === 'User' ? 'People' : 'Groups of people',
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  };
}

export function schemas(base: string): JsonObject {
  return listOf(schemaDescriptions(`${base}/Schemas`));
}

/** @throws NOT_FOUND */
export function schema(id: string, base: string): JsonObject {
  return requireFound(
    schemaDescriptions(`${base}/Schemas`).find((description) => description['id'] === id),
    'schema',
  );
}

function listOf(resources: readonly JsonObject[]): JsonObject {
  return listResponse(resources, resources.length, 1);
}
