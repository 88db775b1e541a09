const DIGITS = 26;

/** The names of the records that the examples create, by id prefix, in order. */
const SAMPLES = {
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
  ],
  whk: ['the webhook of the finance channel', 'the webhook that is deleted'],
} satisfies Readonly<Record<string, readonly string[]>>;

/**
 * A sample id, which refers to the `number`th record of its kind created in a session. In Swagger UI, `ui-start.ts`
 * replaces it by the real id, so that the examples can be executed one after another.
 */
export function sampleId(prefix: string, number = 1): string {
  return `${prefix}_${String(number).padStart(DIGITS, '0')}`;
}

/** In examples, stands for the policy set that was returned last. */
export const SAMPLE_POLICY_SET = '0'.repeat(64);

/**
 * The record that a sample id refers to, such as `the agent "reminder-bot"`; undefined for kinds that the examples do
 * not create.
 */
export function sampleName(prefix: string, number = 1): string | undefined {
  return Object.entries<readonly string[]>(SAMPLES).find(([known]) => known === prefix)?.[1][number - 1];
}

/** A Markdown table of the records that the sample ids refer to. */
export function legend(): string {
  const rows = Object.entries<readonly string[]>(SAMPLES).flatMap(([prefix, names]) =>
    names.map((name, index) => `| \`${sampleId(prefix, index + 1)}\` | ${name} |`),
  );
  return rows.join('\n');
}
