import type { OpenAPIObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';

type Schema = SchemaObject | ReferenceObject;

/**
 * Moves `nullable` from a reference to the schema it refers to. In OpenAPI 3.0 it has no effect next to a reference,
 * and the usual workarounds do not compile in some generators. So a class that is nullable in one place has to be
 * nullable everywhere.
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
