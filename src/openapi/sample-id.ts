const DIGITS = 26;

/** What the examples call the records that they create, by the prefix of their ids, in order. */
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
 * An id for examples: it stands for the record of its kind that was created as the `number`th of a session. In Swagger UI
 * `ui-start.ts` puts the real id in its place, so that the examples can be executed one after another.
 */
export function sampleId(prefix: string, number = 1): string {
  return `${prefix}_${String(number).padStart(DIGITS, '0')}`;
}

/** Stands in examples for the set of policies that was answered last. */
export const SAMPLE_POLICY_SET = '0'.repeat(64);

/** What a sample id stands for, such as `the agent "reminder-bot"`; undefined for a kind that the examples do not create. */
export function sampleName(prefix: string, number = 1): string | undefined {
  return Object.entries<readonly string[]>(SAMPLES).find(([known]) => known === prefix)?.[1][number - 1];
}

/** The rows of a table in Markdown: what each id in the examples stands for. */
export function legend(): string {
  const rows = Object.entries<readonly string[]>(SAMPLES).flatMap(([prefix, names]) =>
    names.map((name, index) => `| \`${sampleId(prefix, index + 1)}\` | ${name} |`),
  );
  return rows.join('\n');
}
