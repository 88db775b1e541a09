import type { HeaderObject, OpenAPIObject, ReferenceObject, ResponseObject, SchemaObject } from '@nestjs/swagger';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { type DocumentedOperation, documentedResponse } from '../support/requests/api-document';
import type { Answer } from '../support/application/send';

const DOCUMENT = 'document';
/** Headers that have to be documented wherever they appear. */
const DOCUMENTED_HEADERS = [
  'Approval-Requested',
  'Approval-Feasible',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
];

/** Compares answers with the document, and remembers which of the documented ones were seen. */
export class AnswerCheck {
  private readonly ajv = new Ajv({ strict: false, allErrors: true });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly seen = new Set<string>();

  constructor(private readonly document: OpenAPIObject) {
    addFormats(this.ajv);
    this.ajv.addSchema({ $id: DOCUMENT, components: closed(document.components) });
  }

  /**
   * Returns how the answer differs from the document; empty if it does not.
   * @param absent documented headers that this answer must not have.
   */
  faults({ id, operation }: DocumentedOperation, answer: Answer, absent: readonly string[] = []): string[] {
    const response = documentedResponse(this.document, operation, answer.status);
    if (response === undefined) return [`${id} answered an undocumented ${answer.status}: ${answer.text}`];
    this.seen.add(caseName(id, answer.status, answer.body?.error?.code));
    return [...this.bodyFaults(response, answer), ...this.headerFaults(response, answer, absent)].map(
      (fault) => `${id} ${answer.status}: ${fault}`,
    );
  }

  /** The documented answers of an operation that were never seen. */
  unseen({ id, operation }: DocumentedOperation): string[] {
    const documented = Object.keys(operation.responses).flatMap((status) => {
      const examples = documentedResponse(this.document, operation, status)?.content?.['application/json']?.examples;
      const codes = Object.keys(examples ?? {});
      return codes.length === 0 ? [caseName(id, status)] : codes.map((code) => caseName(id, status, code));
    });
    return documented.filter((answer) => !this.seen.has(answer));
  }

  private bodyFaults({ content, description }: ResponseObject, { text, body }: Answer): string[] {
    const { schema, examples = {} } = content?.['application/json'] ?? {};
    const code: string | undefined = body?.error?.code;
    const isLines = content?.['application/x-ndjson'] !== undefined;
    if (isLines && code === undefined) return this.lineFaults(schemaIn(description), text);
    if (code !== undefined && !(code in examples)) return [`the code ${code} is not documented`];
    if (schema === undefined) return text === '' ? [] : [`a body that is not documented: ${text}`];
    const validate = this.validator(schema);
    return validate(body) ? [] : [`${this.ajv.errorsText(validate.errors)} in ${text}`];
  }

  private lineFaults(schema: SchemaObject | ReferenceObject, text: string): string[] {
    const validate = this.validator(schema);
    const lines = text.split('\n');
    const last = lines.pop();
    const faults = last === '' ? [] : [`a last line without an end: ${last}`];
    return lines.reduce(
      (lineFaults, line) =>
        validate(JSON.parse(line)) ? lineFaults : [...lineFaults, `${this.ajv.errorsText(validate.errors)} in ${line}`],
      faults,
    );
  }

  private validator(schema: SchemaObject | ReferenceObject): ValidateFunction {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/components', `"${DOCUMENT}#/components`);
    const validator = this.validators.get(text) ?? this.ajv.compile(JSON.parse(text) as object);
    this.validators.set(text, validator);
    return validator;
  }

  private headerFaults({ headers = {} }: ResponseObject, answer: Answer, absent: readonly string[]): string[] {
    const documented = Object.entries(headers).map(([name, header]) => [name, this.followed(header)] as const);
    const expected = documented.filter(([name]) => !isOptional(name) && !absent.includes(name));
    const missing = expected.filter(([name]) => !answer.headers.has(name));
    const unexpected = absent.filter((name) => answer.headers.has(name));
    const wrong = documented.filter(([name, { schema }]) => {
      const isInteger = schema !== undefined && 'type' in schema && schema.type === 'integer';
      return isInteger && !/^\d+$/.test(answer.headers.get(name) ?? '0');
    });
    const undocumented = DOCUMENTED_HEADERS.filter((name) => answer.headers.has(name) && headers[name] === undefined);
    return [
      ...missing.map(([name]) => `the header ${name} is missing`),
      ...unexpected.map((name) => `the header ${name} does not belong there`),
      ...wrong.map(([name]) => `the header ${name} is no integer`),
      ...undocumented.map((name) => `the header ${name} is not documented`),
    ];
  }

  private followed(header: HeaderObject | ReferenceObject): HeaderObject {
    if (!('$ref' in header)) return header;
    return this.document.components?.headers?.[header.$ref.split('/').at(-1) ?? ''] as HeaderObject;
  }
}

/**
 * Only a 503 with an error says when to retry, not that of an unhealthy service. Most answers are not replays, and who
 * asks again has not requested the approval.
 */
function isOptional(name: string): boolean {
  const ofExecutions = ['Approval-Requested', 'Approval-Feasible', 'X-Decision-Id', 'X-Execution-Id'];
  return ['Accept-Encoding', 'Idempotent-Replayed', 'Retry-After', ...ofExecutions].includes(name);
}

function caseName(id: string, status: number | string, code?: string): string {
  return [id, status, ...(code === undefined ? [] : [code])].join(' ');
}

/** The description contains the schema of a line: a file of lines is not JSON. */
function schemaIn(description: string): SchemaObject {
  const [, block = ''] = /```json\n([^`]+)```/.exec(description) ?? [];
  return JSON.parse(block) as SchemaObject;
}

/** A copy of the schema in which objects allow no additional members: whatever answers contain has to be documented. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  return 'properties' in copy && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy;
}
