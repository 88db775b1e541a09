import type { INestApplication } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ApiTag } from './api-tag';
import { COMMON_HEADERS } from './common-headers';
import { type DocumentedRoute, documentedRoutes, operationId } from './documented-route';
import { errorCodesOf } from './error-responses';
import { errorSchemas } from './error-schemas';
import { allowNull } from './nullable-references';
import { completeOperations } from './operations';
import { legend } from './sample-id';
import { TAGS } from './tags';

const KEY_SCHEME = 'ApiKey';
const BEARER_SCHEME = 'Bearer';

const DESCRIPTION = `This service stands between AI agents and the systems they act on. Before an agent acts, it asks here, and its
capabilities and the policies in force decide; risky actions are proposed, and others approve them. Every action, refusal and change
is recorded, and sealed in a chain that anyone can verify.

\`\`\`
agent ── execute ──▶ capabilities ──▶ policies ──┬──▶ authorized: act
                                                ├──▶ executed, by a handler here
                                                └──▶ denied, with the reason
agent ── propose ──▶ decision ──▶ reviews ───────┬──▶ approved
                                                └──▶ rejected, or expired

             each step ──▶ audit entry ──▶ seal in the chain ──▶ checkpoint
\`\`\`

Send the API key in the header \`X-API-Key\` (the Authorize button does). Every error has the same shape. An unknown member
or parameter is an error.

The examples can be executed one after the other: Entities, Agents, Policies, Executions, Decisions, API keys, then the rest. The ids
in them stand for the records you create here; where a request has two examples, execute both.

| In the examples | stands for |
|---|---|
${legend()}`;

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
