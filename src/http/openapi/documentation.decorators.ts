import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { AnyRecordKind } from '../../ledger/kinds/record-kind';

export const API_EXAMPLES = 'docs:api-examples';

/** Named examples of a request body; each lists only the members that differ from the members' own examples. */
export type BodyExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Gives a route several examples of its body. Without it, the only example is built from those of the members. */
export const ApiExamples = (examples: BodyExamples): CustomDecorator => SetMetadata(API_EXAMPLES, examples);

const DIGITS = 26;

/** Names of the records that the examples create, by id prefix and in order. */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  ent: ['the entity "Payment gateway"', 'the entity "Fax gateway"'],
  clm: ['the first claim about "Payment gateway"', 'the second claim about it'],
  agt: ['the agent "reminder-bot"', 'the agent "change-reviewer"'],
  pol: ['the policy "collections-may-remind"', 'the policy "closed-accounts"', 'the policy "write-offs-need-approval"'],
  exe: ['what "reminder-bot" executed', 'the write-off that is approved', 'the write-off that is cancelled'],
  dec: [
    'the decision on the first write-off',
    'the decision on the second write-off',
    'the decision "Deploy release 4.2 of the payment gateway"',
    'the decision on release 4.3',
    'the decision on release 4.4',
  ],
  whk: ['the webhook of the finance channel', 'the webhook that is deleted'],
};

/**
 * A sample id, which refers to the `number`th record of its kind created in a session. In Swagger UI, `swagger-ui.ts`
 * replaces it by the real id, so that the examples can be executed one after another.
 */
export function sampleId(prefix: string, number = 1): string {
  return `${prefix}_${String(number).padStart(DIGITS, '0')}`;
}

/** Placeholder in examples for the policy set that was returned last. */
export const SAMPLE_POLICY_SET = '0'.repeat(64);

/** A Markdown table of the records that the sample ids refer to. */
export function legend(): string {
  const rows = Object.entries(SAMPLES).flatMap(([prefix, names]) =>
    names.map((name, index) => `| \`${sampleId(prefix, index + 1)}\` | ${name} |`),
  );
  return rows.join('\n');
}

export interface RecordIdParameter {
  /** Name of the path parameter; `id` by default. */
  readonly parameter?: string;
  /** Number of the record of its kind that the example refers to; 1 by default. */
  readonly sample?: number;
}

/** Documents the path parameter with the id of a record, with an example that can be executed. */
export function ApiRecordId(
  { subjectType, idPrefix }: AnyRecordKind,
  { parameter = 'id', sample = 1 }: RecordIdParameter = {},
): MethodDecorator {
  const name = SAMPLES[idPrefix]?.[sample - 1];
  const description = `Id of the ${subjectType}.${name === undefined ? '' : ` The example stands for ${name}.`}`;
  return ApiParam({ name: parameter, description, example: sampleId(idPrefix, sample) });
}

/**
 * A module's tag in the API document, with a sentence about its purpose. Provided as a value; it follows those of the
 * service.
 */
export class ApiTag {
  constructor(
    readonly name: string,
    readonly description: string,
  ) {}
}
