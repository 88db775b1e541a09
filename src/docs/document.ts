import type { INestApplication } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { COMMON_HEADERS } from './common-headers';
import { documentedRoutes, operationId } from './documented-route';
import { ERROR_SCHEMA, ERROR_SCHEMA_NAME } from './error-responses';
import { completeOperations } from './operations';
import { TAGS } from './tags';

const KEY_SCHEME = 'ApiKey';

const DESCRIPTION = `Governance of AI agents: what they work with (entities and claims), who they are, what they may do
(policies), what they did (executions), what they proposed and what became of it (decisions), and an audit trail sealed in
a chain that anyone can verify.

Send the API key in the header \`X-API-Key\` (the Authorize button does). Every error has the same shape. An unknown member
or parameter is an error.

The examples can be executed from top to bottom: the ids in them stand for the records you create here. Where a request has
two examples, execute both.`;

/** The OpenAPI document of the application as it runs, extension modules included. */
export function createDocument(application: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(application, base(), { operationIdFactory: operationId });
  document.components = {
    ...document.components,
    schemas: { ...document.components?.schemas, [ERROR_SCHEMA_NAME]: ERROR_SCHEMA },
    headers: COMMON_HEADERS,
  };
  completeOperations(document, documentedRoutes(application.get(DiscoveryService, { strict: false })));
  return document;
}

function base(): Omit<OpenAPIObject, 'paths'> {
  const builder = new DocumentBuilder()
    .setTitle('Agent governance service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .setOpenAPIVersion('3.0.3')
    .addServer('/', 'This server')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, KEY_SCHEME)
    .addSecurityRequirements(KEY_SCHEME);
  TAGS.forEach(({ name, description }) => builder.addTag(name, description));
  return builder.build();
}
