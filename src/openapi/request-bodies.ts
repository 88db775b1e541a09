import type { OpenAPIObject, OperationObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';
import type { BodyExamples } from './api-examples.decorator';

const JSON_TYPE = 'application/json';

type Example = Record<string, unknown>;

/** Completes the schema of an operation's body, which takes no unknown members, and adds its examples. */
export function completeRequestBody(
  document: OpenAPIObject,
  { requestBody }: OperationObject,
  examples: BodyExamples | undefined,
): void {
  const media = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;
  const schema = schemaOf(document, media?.schema);
  if (media === undefined || schema === undefined) {
    return;
  }
  close(document, schema);
  const usual = exampleOfMembers(schema);
  if (examples === undefined) {
    media.example = usual;
  } else {
    const named = Object.entries(examples).map(([name, different]) => [name, { value: { ...usual, ...different } }]);
    media.examples = Object.fromEntries(named) as Record<string, { value: Example }>;
  }
}

/** Forbids unknown members in the schema and in those of the items in its lists. */
function close(document: OpenAPIObject, schema: SchemaObject): void {
  schema.additionalProperties = false;
  for (const member of Object.values(schema.properties ?? {})) {
    const items = 'items' in member ? schemaOf(document, member.items) : undefined;
    if (items !== undefined) items.additionalProperties = false;
  }
}

function schemaOf(
  document: OpenAPIObject,
  reference: SchemaObject | ReferenceObject | undefined,
): SchemaObject | undefined {
  const name = reference !== undefined && '$ref' in reference ? reference.$ref.split('/').at(-1) : undefined;
  const schema = document.components?.schemas?.[name ?? ''];
  return schema === undefined || '$ref' in schema ? undefined : schema;
}

/** Members without an example of their own are omitted: they are optional. */
function exampleOfMembers({ properties = {} }: SchemaObject): Example {
  const members = Object.entries<SchemaObject | ReferenceObject>(properties);
  return Object.fromEntries(
    members.flatMap(([name, member]) => ('example' in member ? [[name, member.example as unknown]] : [])),
  );
}
