import type { INestApplication } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import {
  DocumentBuilder,
  type OpenAPIObject,
  type ReferenceObject,
  type SchemaObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { ApiTag, legend } from './documentation.decorators';
import { COMMON_HEADERS, type DocumentedRoute, documentedRoutes, operationId } from './documented-route';
import { errorCodesOf, errorSchemas } from './error-responses';
import { completeOperations } from './operations';

const KEY_SCHEME = 'ApiKey';
const BEARER_SCHEME = 'Bearer';

/** One per module, with a sentence about its purpose: the most frequently used ones first. */
const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Executions', description: 'Actions of agents: each one authorised, carried out or refused, and recorded.' },
  {
    name: 'Policies',
    description: 'Versioned rules that allow or deny what agents do to resources, or require approval.',
  },
  { name: 'Entities', description: 'What agents work with, and the claims that are made about it.' },
  { name: 'Agents', description: 'Who acts: its capabilities, its roles, and whether it may act at all.' },
  { name: 'Decisions', description: 'Proposals of agents, which other agents approve or reject.' },
  {
    name: 'Grants',
    description: 'Approvals that are good for more than one action, within what their reviewers gave.',
  },
  { name: 'Passkeys', description: 'What people sign approvals with, so that nobody else can give them.' },
  { name: 'Stops', description: 'Agents, roles and actions that people have stopped, whatever the policies allow.' },
  { name: 'API keys', description: 'Who calls: the keys that the service issues, and what each of them allows.' },
  { name: 'Audit', description: 'Who did what, when, and with what outcome.' },
  { name: 'Events', description: 'The audit trail as it is written, without polling.' },
  { name: 'Provenance', description: 'The chain of seals over the audit trail, and its verification.' },
  { name: 'Erasures', description: 'What records contain, forgotten without breaking a proof.' },
  { name: 'Reports', description: 'What the whole looks like, counted from the records.' },
  { name: 'AuthZEN', description: 'The OpenID AuthZEN Authorization API 1.0: whether an action would be allowed.' },
  {
    name: 'Permits',
    description: 'Who issues the tokens that prove an authorised action to other systems, and the keys.',
  },
  { name: 'Forward auth', description: 'Whether a request of an agent may pass a gateway.' },
  { name: 'Health', description: 'Whether the service works, and how many records it holds.' },
];

const DESCRIPTION = `This service stands between AI agents and the systems they act on. Before an agent acts, it asks here, and its
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

The examples can be executed one after the other: Entities, Agents, Policies, Executions, Decisions, API keys, then the rest. The ids
in them stand for the records you create here; where a request has two examples, execute both.

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
  addErrorSchemas(document, routes);
  return document;
}

/** Adds the schemas of the codes that routes answer with. */
function addErrorSchemas({ components }: OpenAPIObject, routes: ReadonlyMap<string, DocumentedRoute>): void {
  const codes = new Set([...routes.values()].flatMap(errorCodesOf));
  if (components !== undefined) components.schemas = { ...components.schemas, ...errorSchemas(codes) };
}

function tagsOfModules(discovery: DiscoveryService): ApiTag[] {
  const provided = discovery.getProviders().map((provider): unknown => provider.instance);
  return provided.filter((instance) => instance instanceof ApiTag);
}

function base(tags: readonly ApiTag[]): Omit<OpenAPIObject, 'paths'> {
  const builder = new DocumentBuilder()
    .setTitle('Agent governance service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0')
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
 * Moves `nullable` from a reference to the schema it refers to. In OpenAPI 3.0 it has no effect next to a reference,
 * and the usual workarounds do not compile in some generators. So a class that is nullable in one place has to be
 * nullable everywhere.
 */
function allowNull({ components }: OpenAPIObject): void {
  const schemas = components?.schemas ?? {};
  for (const { properties = {} } of Object.values(schemas).filter(isSchema)) {
    for (const member of Object.values<Schema>(properties).filter(isSchema)) {
      const target = schemas[nameIn(member) ?? ''];
      if (member.nullable !== true || target === undefined || !isSchema(target)) continue;
      delete member.nullable;
      delete member.type;
      target.nullable = true;
    }
  }
}

function nameIn({ allOf: [only] = [] }: SchemaObject): string | undefined {
  return only !== undefined && !isSchema(only) ? only.$ref.split('/').at(-1) : undefined;
}

function isSchema(schema: Schema): schema is SchemaObject {
  return !('$ref' in schema);
}
