import { createRequire } from 'node:module';
import { type INestApplication, RequestMethod } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import {
  DocumentBuilder,
  type HeadersObject,
  type OpenAPIObject,
  type OperationObject,
  type ParameterObject,
  type ReferenceObject,
  type ResponseObject,
  type SchemaObject,
  SwaggerModule,
} from '@nestjs/swagger';
import type { RouteScopes } from '../request/routes';
import { ApiTag, type BodyExamples, legend } from './documentation.decorators';
import {
  addErrorResponses,
  COMMON_HEADERS,
  COMMON_HEADER_REFERENCES,
  type DocumentedRoute,
  documentedRoutes,
  errorCodesOf,
  errorSchemas,
  operationId,
  REPLAYED_HEADER_DOC,
} from './documented-route';

/** Version of the package, which is also that of the API. */
const { version: VERSION } = createRequire(__filename)('../../../package.json') as { readonly version: string };

const KEY_SCHEME = 'ApiKey';
const BEARER_SCHEME = 'Bearer';

/**
 * One tag per module, with a sentence about its purpose, in the order in which the examples can be executed and the
 * page shows them.
 */
const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Entities', description: 'What agents work with, and the claims that are made about it.' },
  { name: 'Agents', description: 'Who acts: its capabilities, its roles, and whether it may act at all.' },
  {
    name: 'Policies',
    description: 'Versioned rules that allow or deny what agents do to resources, or require approval.',
  },
  {
    name: 'Actions',
    description: 'What agents ask for: each action is authorised, refused, or waits for an approval.',
  },
  { name: 'Decisions', description: 'Proposals of agents, which other agents approve or reject.' },
  { name: 'Executions', description: 'Actions of agents: each one authorised, carried out or refused, and recorded.' },
  {
    name: 'Grants',
    description: 'Approvals that are valid for more than one action, within the bounds that their reviewers have set.',
  },
  { name: 'Passkeys', description: 'What people sign approvals with, so that nobody else can give them.' },
  { name: 'Delegations', description: 'People who are away, and who reviews in their place.' },
  { name: 'Stops', description: 'Agents, roles and actions that people have stopped, whatever the policies allow.' },
  { name: 'Directory', description: 'Groups of people from a directory, which sends them by SCIM at `/scim/v2`.' },
  { name: 'API keys', description: 'Who calls: the keys that the service issues, and what each of them allows.' },
  { name: 'Audit', description: 'Who did what, when, and with what outcome.' },
  { name: 'Events', description: 'The audit trail as it is written, without polling.' },
  { name: 'Provenance', description: 'The chain of seals over the audit trail, and its verification.' },
  { name: 'Erasures', description: 'Erases what records contain, without breaking a proof.' },
  { name: 'Reports', description: 'Figures for a period, counted from the records.' },
  { name: 'AuthZEN', description: 'The OpenID AuthZEN Authorization API 1.0: whether an action would be allowed.' },
  {
    name: 'Permits',
    description: 'The issuer of the tokens that prove an authorised action to other systems, and its keys.',
  },
  { name: 'Forward auth', description: 'Whether a request of an agent may pass a gateway.' },
  { name: 'Health', description: 'Whether the service works, and how many records it holds.' },
];

const DESCRIPTION = `This service stands between AI agents and the systems they act on. Before an agent acts, it requests the action here, and its
capabilities and the policies in force decide; risky actions are proposed, and others approve them. Every action, refusal and change
is recorded, and sealed in a chain that anyone can verify.

\`\`\`
agent ── execute ──▶ capabilities ──▶ policies ──┬──▶ authorized: act, then report the result
                                                ├──▶ executed, by a handler here
                                                ├──▶ denied, with the reason
                                                └──▶ pending_approval ──▶ decision ──▶ reviews ──┐
agent ◀── resume, once ◀── approved ◀──────────────────────────────────────────────────────────┤
                                                             rejected, or expired ◀────────────┘
             each step ──▶ audit entry ──▶ seal in the chain ──▶ checkpoint
\`\`\`

Send the key in the header \`X-API-Key\`, or a key or token as \`Authorization: Bearer\` (the Authorize button does). Every error
has the same shape. An unknown member or parameter is an error.

The examples can be executed from top to bottom, with a key that may do everything, on a database with no records. The ids in them
stand for the records you create here; where a request has several examples, execute all. Where more is necessary, the description
says what the request requires.

| In the examples | stands for |
|---|---|
${legend()}`;

type Schema = SchemaObject | ReferenceObject;

/** The OpenAPI document of the application as it runs, extension modules included. */
export function createDocument(application: INestApplication): OpenAPIObject {
  const discovery = application.get(DiscoveryService, { strict: false });
  const document = SwaggerModule.createDocument(application, base(tagsOfModules(discovery)), {
    operationIdFactory: operationId,
  });
  document.components = { ...document.components, headers: COMMON_HEADERS };
  allowNull(document);
  const routes = documentedRoutes(discovery);
  completeOperations(document, routes);
  const codes = new Set([...routes.values()].flatMap(errorCodesOf));
  document.components.schemas = { ...document.components.schemas, ...errorSchemas(codes) };
  return document;
}

function tagsOfModules(discovery: DiscoveryService): ApiTag[] {
  const provided = discovery.getProviders().map((provider): unknown => provider.instance);
  return provided.filter((instance) => instance instanceof ApiTag);
}

function base(tags: readonly ApiTag[]): Omit<OpenAPIObject, 'paths'> {
  const builder = new DocumentBuilder()
    .setTitle('Agent governance service')
    .setDescription(DESCRIPTION)
    .setVersion(VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .setOpenAPIVersion('3.0.3')
    .addServer('/', 'This server')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, KEY_SCHEME)
    .addSecurity(BEARER_SCHEME, { type: 'http', scheme: 'bearer' })
    .addSecurityRequirements(KEY_SCHEME)
    .addSecurityRequirements(BEARER_SCHEME);
  [...TAGS, ...tags].forEach(({ name, description }) => builder.addTag(name, description));
  return builder.build();
}

/**
 * Moves `nullable` from a reference to its schema. In OpenAPI 3.0 it has no effect next to a reference, and some
 * generators cannot compile the usual workarounds. Therefore a class that is nullable in one place has to be nullable
 * everywhere.
 */
function allowNull(document: OpenAPIObject): void {
  const schemas = Object.values(document.components?.schemas ?? {});
  for (const { properties = {} } of schemas.filter(isSchema)) {
    for (const member of Object.values<Schema>(properties).filter(isSchema)) {
      const target = schemaOf(document, member.allOf?.[0]);
      if (member.nullable !== true || target === undefined) continue;
      delete member.nullable;
      delete member.type;
      target.nullable = true;
    }
  }
}

function isSchema(schema: Schema): schema is SchemaObject {
  return !('$ref' in schema);
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const ETAG: HeadersObject = {
  ETag: {
    schema: { type: 'string' },
    example: '"1"',
    description: 'The revision, for `If-Match` and `If-None-Match`.',
  },
};
const CONTENT_ETAG: HeadersObject = {
  ETag: { schema: { type: 'string' }, example: '"9f2c"', description: 'Of the content, for `If-None-Match`.' },
};
const IF_NONE_MATCH: ParameterObject = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'ETag of a copy the client has (one, a list, or `*`): 304 if it is current.',
};
const IDEMPOTENCY_KEY: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  description:
    'Makes the request safe to repeat: for 24 hours the same key, path and body return the first answer again and take ' +
    'effect only once. A different body is a CONFLICT.',
};
const LOCATION: HeadersObject = { Location: { schema: { type: 'string' }, description: 'Path of the new record.' } };

/** Response of a route with `FOUR_EYES`, in place of its usual one. */
const CHANGE_PROPOSED: ResponseObject = {
  description:
    'With `FOUR_EYES`: nothing has changed; the decision on the change, which a second person has to approve.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/DecisionResponse' } } },
  headers: { Location: { schema: { type: 'string' }, description: 'Path of the decision.' } },
};

/** Adds to every operation the parts that the HTTP layer adds: errors, headers, and whether it requires a key. */
function completeOperations(document: OpenAPIObject, routes: ReadonlyMap<string, DocumentedRoute>): void {
  for (const item of Object.values(document.paths)) {
    for (const operation of METHODS.flatMap((method) => item[method] ?? [])) {
      const route = routes.get(operation.operationId ?? '');
      if (route !== undefined) complete(document, operation, route);
    }
  }
}

function complete(document: OpenAPIObject, operation: OperationObject, route: DocumentedRoute): void {
  const { traits, method } = route;
  const shared = ((document.components ??= {}).responses ??= {});
  if (traits.isPublic) operation.security = [];
  else describeScope(operation, traits.scopes);
  completeRequestBody(document, operation, route.examples);
  const contentTag = traits.isTagged ? CONTENT_ETAG : null;
  const tag = traits.isRevisioned ? ETAG : contentTag;
  const isReplayed = method === RequestMethod.POST && traits.keepsAnswers;
  for (const [status, response] of Object.entries(operation.responses) as [string, ResponseObject][]) {
    if (!status.startsWith('2')) continue;
    response.headers = {
      ...response.headers,
      ...tag,
      ...(status === '201' && LOCATION),
      ...(isReplayed && REPLAYED_HEADER_DOC),
    };
  }
  if (isReplayed) operation.parameters = [...(operation.parameters ?? []), IDEMPOTENCY_KEY];
  if (tag !== null && method === RequestMethod.GET) {
    operation.responses['304'] = { description: 'The copy named in `If-None-Match` is current.', headers: tag };
    operation.parameters = [...(operation.parameters ?? []), IF_NONE_MATCH];
  }
  if (traits.secondPerson !== undefined) operation.responses['202'] = { ...CHANGE_PROPOSED };
  addErrorResponses(operation.responses, errorCodesOf(route), shared);
  for (const response of Object.values(operation.responses)) {
    if (response !== undefined && !('$ref' in response)) {
      response.headers = { ...response.headers, ...COMMON_HEADER_REFERENCES };
    }
  }
}

/** Describes the required scope in a separate line at the end. */
function describeScope(operation: OperationObject, scopes: RouteScopes): void {
  const line =
    typeof scopes === 'string' ? 'Scope: any.' : `Scope: ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
  operation.description = operation.description === undefined ? line : `${operation.description}\n\n${line}`;
}

const JSON_TYPE = 'application/json';

type Example = Record<string, unknown>;

/**
 * Completes the schema of an operation's body, which takes no unknown members, and adds its examples. A body that is
 * documented with examples has been described in full.
 */
function completeRequestBody(
  document: OpenAPIObject,
  { requestBody }: OperationObject,
  examples: BodyExamples | undefined,
): void {
  const media = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;
  const schema = schemaOf(document, media?.schema);
  if (media === undefined || schema === undefined || media.examples !== undefined) return;
  close(document, schema);
  const usual = exampleOfMembers(schema);
  if (examples === undefined) {
    media.example = usual;
  } else {
    const entries = Object.entries(examples).map(([name, different]) => [name, { value: { ...usual, ...different } }]);
    media.examples = Object.fromEntries(entries) as Record<string, { value: Example }>;
  }
}

/** Forbids unknown members in the schema, and in the items of its lists. */
function close(document: OpenAPIObject, schema: SchemaObject): void {
  schema.additionalProperties = false;
  for (const member of Object.values(schema.properties ?? {})) {
    const items = 'items' in member ? schemaOf(document, member.items) : undefined;
    if (items !== undefined) items.additionalProperties = false;
  }
}

function schemaOf({ components }: OpenAPIObject, reference: Schema | undefined): SchemaObject | undefined {
  if (reference === undefined || isSchema(reference)) return undefined;
  const schema = components?.schemas?.[reference.$ref.split('/').at(-1) ?? ''];
  return schema !== undefined && isSchema(schema) ? schema : undefined;
}

/** Returns the example of an object. Members without an example are omitted, because they are optional. */
function exampleOfMembers({ properties = {} }: SchemaObject): Example {
  const members = Object.entries<Schema>(properties);
  return Object.fromEntries(
    members.flatMap(([name, member]) => ('example' in member ? [[name, member.example as unknown]] : [])),
  );
}
