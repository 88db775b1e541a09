import type { MediaTypeObject, OpenAPIObject, OperationObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';
import type { BodyExamples } from './api-examples.decorator';

const JSON_TYPE = 'application/json';

type Example = Record<string, unknown>;

/** Completes the schema of an operation's body, which takes no unknown members, and gives it its examples. */
export function completeRequestBody(
  document: OpenAPIObject,
  { requestBody }: OperationObject,
  examples: BodyExamples | undefined,
): void {
  const media = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;
  const schema = schemaOf(document, media);
  if (media === undefined || schema === undefined) {
    return;
  }
  schema.additionalProperties = false;
  const usual = exampleOfMembers(schema);
  if (examples === undefined) {
    media.example = usual;
  } else {
    const named = Object.entries(examples).map(([name, different]) => [name, { value: { ...usual, ...different } }]);
    media.examples = Object.fromEntries(named) as Record<string, { value: Example }>;
  }
}

function schemaOf(document: OpenAPIObject, media: MediaTypeObject | undefined): SchemaObject | undefined {
  const name = media?.schema !== undefined && '$ref' in media.schema ? media.schema.$ref.split('/').at(-1) : undefined;
  const schema = document.components?.schemas?.[name ?? ''];
  return schema === undefined || '$ref' in schema ? undefined : schema;
}

/** Members without an example of their own are left out: they are optional. */
function exampleOfMembers({ properties = {} }: SchemaObject): Example {
  const members = Object.entries<SchemaObject | ReferenceObject>(properties);
  return Object.fromEntries(
    members.flatMap(([name, member]) => ('example' in member ? [[name, member.example as unknown]] : [])),
  );
}
