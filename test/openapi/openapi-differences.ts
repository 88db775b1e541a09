import type { OpenAPIObject, ParameterObject, ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { documentedResponse, type DocumentedOperation, operationsOf } from '../support/requests/api-document';

const JSON_TYPE = 'application/json';
/** Recursive schemas are followed to this depth. */
const DEEPEST = 12;

type Side = 'request' | 'answer';
/** Description of one value in a document: of a parameter, or a member of a body. */
interface ValueDescription {
  readonly isRequired: boolean;
  readonly types: readonly string[];
  readonly values: readonly string[];
}
type Members = ReadonlyMap<string, ValueDescription>;
type Schema = SchemaObject | ReferenceObject;

/**
 * Changes in the current document that can break a client written for the released one, each with its
 * operations. Additions (operations, optional members of requests, members of answers) break nothing.
 */
export function differences(released: OpenAPIObject, current: OpenAPIObject): Record<string, string[]> {
  const now = new Map(operationsOf(current).map((operation) => [routeName(operation), operation]));
  const operationsByLine: Record<string, string[]> = {};
  for (const operation of operationsOf(released)) {
    const today = now.get(routeName(operation));
    const lines = today === undefined ? ['is gone'] : changesOf([released, operation], [current, today]);
    for (const line of lines) (operationsByLine[line] ??= []).push(routeName(operation));
  }
  return operationsByLine;
}

type OperationIn = readonly [document: OpenAPIObject, operation: DocumentedOperation];

function changesOf(before: OperationIn, after: OperationIn): string[] {
  const sent = changed(sentMembers(...before), sentMembers(...after), 'request');
  return [...sent, ...changed(answeredMembers(...before), answeredMembers(...after), 'answer')];
}

function routeName({ method, path }: DocumentedOperation): string {
  return `${method} ${path}`;
}

function changed(released: Members, current: Members, side: Side): string[] {
  const lines = [...released].flatMap(([name, before]) => {
    const after = current.get(name);
    if (after === undefined) return [`${side} ${name} is gone`];
    return describeChange(before, after, side).map((change) => `${side} ${name} ${change}`);
  });
  if (side === 'answer') return lines;
  // Required members of a new optional member concern only those who send it.
  const added = [...current].filter(([name, { isRequired }]) => isRequired && !released.has(name));
  const demanded = added.filter(([name]) => released.has(parentOf(name)) || name.includes(' '));
  return [...lines, ...demanded.map(([name]) => `${side} ${name} is new and required`)];
}

/** `body.approval` of `body.approval.approvers`, `body.tags` of `body.tags[]`. */
function parentOf(name: string): string {
  return name.replace(/(?:\.[^.[]+|\[\])$/, '');
}

/**
 * A request must not require more than before, and an answer must not contain values that it could not contain before.
 */
function describeChange(before: ValueDescription, after: ValueDescription, side: Side): string[] {
  const [narrow, wide] = side === 'request' ? [before, after] : [after, before];
  const lines = [];
  if (narrow.isRequired !== wide.isRequired && wide.isRequired)
    lines.push(`is ${after.isRequired ? '' : 'not '}required now`);
  if (narrow.types.some((type) => !wide.types.includes(type))) {
    lines.push(`was ${before.types.join(' | ')} and is ${after.types.join(' | ')}`);
  }
  const strange = wide.values.length === 0 ? [] : narrow.values.filter((value) => !wide.values.includes(value));
  const verb = side === 'request' ? 'may no longer be' : 'may now be';
  return strange.length === 0 ? lines : [...lines, `${verb} ${strange.join(', ')}`];
}

function sentMembers(document: OpenAPIObject, { operation }: DocumentedOperation): Members {
  const members = new Map<string, ValueDescription>();
  for (const parameter of (operation.parameters ?? []) as ParameterObject[]) {
    const described = describe(document, parameter.schema ?? {}, parameter.required === true);
    members.set(`${parameter.in} ${parameter.name}`, described);
  }
  const body = operation.requestBody;
  const schema = body !== undefined && 'content' in body ? body.content[JSON_TYPE]?.schema : undefined;
  if (schema !== undefined) collect({ document, members }, 'body', schema, true);
  return members;
}

function answeredMembers(document: OpenAPIObject, { operation }: DocumentedOperation): Members {
  const members = new Map<string, ValueDescription>();
  for (const status of Object.keys(operation.responses)) {
    const response = documentedResponse(document, operation, status);
    members.set(status, { isRequired: false, types: [], values: [] });
    // Errors have one shape, which other tests check.
    const schema = status.startsWith('2') ? response?.content?.[JSON_TYPE]?.schema : undefined;
    if (schema !== undefined) collect({ document, members }, status, schema, true);
  }
  return members;
}

interface Collection {
  readonly document: OpenAPIObject;
  readonly members: Map<string, ValueDescription>;
}

/** Adds the value at `path`, and the values inside it. */
function collect(collection: Collection, path: string, schema: Schema, isRequired: boolean): void {
  collection.members.set(path, describe(collection.document, schema, isRequired));
  if (path.split('.').length > DEEPEST) return;
  for (const part of partsOf(collection.document, schema)) {
    for (const [name, member] of Object.entries(part.properties ?? {})) {
      collect(collection, `${path}.${name}`, member, part.required?.includes(name) === true);
    }
    if (part.items !== undefined) collect(collection, `${path}[]`, part.items, true);
  }
}

function describe(document: OpenAPIObject, schema: Schema, isRequired: boolean): ValueDescription {
  const parts = partsOf(document, schema);
  const types = parts.flatMap(({ type, nullable }) => [type ?? 'any', ...(nullable === true ? ['null'] : [])].flat());
  const values = parts.flatMap((part) => part.enum ?? []) as unknown[];
  return { isRequired, types: [...new Set(types)], values: values.map(String) };
}

/** A schema without references: itself, or the alternatives or parts that it is made of. */
function partsOf(document: OpenAPIObject, schema: Schema): SchemaObject[] {
  if ('$ref' in schema) {
    const target = document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''];
    return target === undefined ? [] : partsOf(document, target);
  }
  const inner = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])];
  if (inner.length === 0) return [schema];
  const parts = inner.flatMap((one) => partsOf(document, one));
  return schema.nullable === true ? [...parts, { type: 'null' }] : parts;
}
