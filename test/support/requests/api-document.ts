import type { OpenAPIObject, OperationObject, ParameterObject, ReferenceObject, ResponseObject } from '@nestjs/swagger';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const JSON_TYPE = 'application/json';

/** An operation of the document, with its method and path. */
export interface DocumentedOperation {
  readonly id: string;
  /** Upper case. */
  readonly method: string;
  /** A template such as `/api/v1/entities/{id}`. */
  readonly path: string;
  readonly operation: OperationObject;
}

/** All operations in the order of the document. */
export function operationsOf({ paths }: OpenAPIObject): DocumentedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).flatMap((name) => {
      const method = METHODS.find((candidate) => candidate === name);
      const operation = method === undefined ? undefined : item[method];
      if (operation === undefined) return [];
      return [{ id: operation.operationId ?? '', method: name.toUpperCase(), path, operation }];
    }),
  );
}

/** The path of an operation with the examples of its parameters, as Swagger UI fills them in: also of optional ones. */
export function examplePath({ path, operation }: DocumentedOperation): string {
  const parameters = (operation.parameters ?? []) as ParameterObject[];
  const filled = parameters
    .filter(({ in: place }) => place === 'path')
    .reduce((unfilled, { name, schema }) => unfilled.replace(`{${name}}`, String(exampleOf(schema))), path);
  const query = parameters
    .filter(
      ({ in: place, required, schema }) => place === 'query' && (required === true || exampleOf(schema) !== undefined),
    )
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema)))}`);
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

function exampleOf(schema: ParameterObject['schema']): unknown {
  return schema !== undefined && 'example' in schema ? schema.example : undefined;
}

/** The examples of an operation's body; undefined represents a request without a body. */
export function exampleBodies({ operation: { requestBody } }: DocumentedOperation): (object | undefined)[] {
  const media = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE] : undefined;
  const examples = Object.values(media?.examples ?? {}) as { value: object }[];
  return examples.length === 0 ? [media?.example as object | undefined] : examples.map(({ value }) => value);
}

/** The documented response of an operation for a status, with references resolved; undefined if there is none. */
export function documentedResponse(
  document: OpenAPIObject,
  { responses }: OperationObject,
  status: number | string,
): ResponseObject | undefined {
  return followed(document, responses[String(status)]);
}

function followed(
  { components }: OpenAPIObject,
  response: ResponseObject | ReferenceObject | undefined,
): ResponseObject | undefined {
  if (response === undefined || !('$ref' in response)) return response;
  const name = response.$ref.split('/').at(-1) ?? '';
  return components?.responses?.[name] as ResponseObject | undefined;
}
