import type { OpenAPIObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';

type Schema = SchemaObject | ReferenceObject;

/**
 * Moves `nullable` from a reference into what it refers to. In OpenAPI 3.0 it means nothing next to a reference, and the usual
 * ways around that do not compile in some generators. What is null in one place may be null in all, so such a class has one.
 */
export function allowNull({ components }: OpenAPIObject): void {
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
