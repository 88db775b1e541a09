import Ajv from 'ajv';

/** Written after what the targets publish, for the parts that messages use; anything else is a fault. */

type Schema = Readonly<Record<string, unknown>>;

function object(properties: Schema, required: readonly string[] = Object.keys(properties)): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function text(maxLength: number): Schema {
  return { type: 'string', minLength: 1, maxLength };
}

/** https://docs.slack.dev/reference/block-kit/blocks and /composition-objects/text-object, with their limits. */
function plainText(longest: number): Schema {
  return object({ type: { const: 'plain_text' }, text: text(longest), emoji: { type: 'boolean' } });
}
const MRKDWN = object({ type: { const: 'mrkdwn' }, text: text(3_000) });
const BUTTON = object(
  {
    ...{ type: { const: 'button' }, text: plainText(75), action_id: text(255), value: text(2_000) },
    style: { enum: ['primary', 'danger'] },
  },
  ['type', 'text', 'action_id'],
);
const TEXT_INPUT = object(
  {
    type: { const: 'plain_text_input' },
    action_id: text(255),
    multiline: { type: 'boolean' },
    max_length: { maximum: 3_000 },
  },
  ['type', 'action_id'],
);
const SLACK = object(
  {
    ...{ text: text(4_000), mrkdwn: { type: 'boolean' } },
    ...{ unfurl_links: { type: 'boolean' }, unfurl_media: { type: 'boolean' } },
    blocks: {
      type: 'array',
      maxItems: 50,
      items: {
        oneOf: [
          object({ type: { const: 'header' }, text: plainText(150) }),
          object({ type: { const: 'section' }, text: { oneOf: [plainText(3_000), MRKDWN] } }),
          object({
            type: { const: 'section' },
            fields: { type: 'array', minItems: 1, maxItems: 10, items: plainText(2_000) },
          }),
          object({ type: { const: 'context' }, elements: { type: 'array', maxItems: 10, items: plainText(3_000) } }),
          object(
            {
              type: { const: 'actions' },
              block_id: text(255),
              elements: { type: 'array', maxItems: 25, items: BUTTON },
            },
            ['type', 'elements'],
          ),
          object(
            {
              ...{ type: { const: 'input' }, block_id: text(255), label: plainText(2_000), element: TEXT_INPUT },
              optional: { type: 'boolean' },
            },
            ['type', 'label', 'element'],
          ),
        ],
      },
    },
  },
  ['text', 'blocks'],
);

/** http://adaptivecards.io/schemas/adaptive-card.json, version 1.4, in the envelope that Teams takes. */
const LOOK = {
  ...{
    size: { enum: ['Default', 'Small', 'Medium', 'Large', 'ExtraLarge'] },
    weight: { enum: ['Default', 'Lighter', 'Bolder'] },
  },
  ...{ color: { enum: ['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention'] } },
  ...{ fontType: { enum: ['Default', 'Monospace'] } },
};
const TEXT_RUN = object({ type: { const: 'TextRun' }, text: { type: 'string' }, ...LOOK }, ['type', 'text']);
const SPACING = { enum: ['Default', 'None', 'Small', 'Medium', 'Large', 'ExtraLarge', 'Padding'] };
const CARD = object(
  {
    ...{ $schema: { const: 'http://adaptivecards.io/schemas/adaptive-card.json' }, type: { const: 'AdaptiveCard' } },
    version: { const: '1.4' },
    body: {
      type: 'array',
      items: {
        oneOf: [
          object({ type: { const: 'TextBlock' }, text: { type: 'string' }, wrap: { type: 'boolean' }, ...LOOK }, [
            'type',
            'text',
          ]),
          object({ type: { const: 'RichTextBlock' }, inlines: { type: 'array', items: TEXT_RUN }, spacing: SPACING }, [
            'type',
            'inlines',
          ]),
        ],
      },
    },
    actions: {
      type: 'array',
      items: object({
        type: { const: 'Action.OpenUrl' },
        title: { type: 'string' },
        url: { type: 'string', pattern: '^https?://' },
      }),
    },
  },
  ['type', 'version', 'body'],
);
const TEAMS = object({
  type: { const: 'message' },
  attachments: {
    type: 'array',
    minItems: 1,
    items: object({
      ...{
        contentType: { const: 'application/vnd.microsoft.card.adaptive' },
        contentUrl: { type: 'null' },
        content: CARD,
      },
    }),
  },
});

/** https://schema.ocsf.io/1.2.0/classes/api_activity: what it requires, and the optional members that are used. */
const WORD = { type: 'string', minLength: 1 };
const OCSF = object(
  {
    ...{
      category_uid: { const: 6 },
      class_uid: { const: 6_003 },
      type_uid: { enum: [600_301, 600_303, 600_304, 600_399] },
    },
    ...{ activity_id: { enum: [1, 3, 4, 99] }, activity_name: WORD, severity_id: { enum: [1, 2, 3, 4, 5, 6] } },
    ...{ time: { type: 'integer' }, status: WORD, status_id: { enum: [1, 2] }, status_detail: WORD },
    metadata: object(
      {
        ...{ version: { const: '1.2.0' }, product: object({ name: WORD, vendor_name: WORD }), uid: WORD },
        ...{ original_time: WORD, log_name: WORD, sequence: { type: 'integer' } },
      },
      ['version', 'product'],
    ),
    actor: object({ user: object({ uid: WORD, type: WORD, type_id: { enum: [0, 1, 2, 3, 99] } }, ['uid']) }),
    api: object({ operation: WORD, request: object({ uid: WORD }) }, ['operation']),
    src_endpoint: { oneOf: [object({ ip: WORD }), object({ svc_name: WORD })] },
    resources: { type: 'array', items: object({ uid: WORD, type: WORD }) },
    unmapped: { type: 'object' },
  },
  [
    'category_uid',
    'class_uid',
    'type_uid',
    'activity_id',
    'severity_id',
    'time',
    'metadata',
    'actor',
    'api',
    'src_endpoint',
  ],
);

const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
const CHECKS = { slack: ajv.compile(SLACK), teams: ajv.compile(TEAMS), ocsf: ajv.compile(OCSF) };

/** Returns the faults of a delivery of a format; empty if it has none. */
export function schemaFaults(format: keyof typeof CHECKS, body: unknown): readonly string[] {
  const check = CHECKS[format];
  return check(body) ? [] : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
