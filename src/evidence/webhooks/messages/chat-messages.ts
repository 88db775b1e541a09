import type { JsonObject } from '../../../core/json/json-value';
import type { Message } from './message';

/** Most fields of a section. */
const MAX_FIELDS = 10;

/** Escapes a text. In `plain_text`, nothing else has a meaning: no mention, link, emoji or markup. */
export function escapeForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Buttons that can be clicked; the second reject comes with a comment. */
export const CLICKS = ['approve', 'reject', 'reject_with_comment'] as const;
export type Click = (typeof CLICKS)[number];
/** Id of the block and of the element for a comment. */
export const COMMENT = 'comment';

/** The decision that can be made in a message. */
export interface ReviewPrompt {
  readonly decisionId: string;
  readonly needsComment?: boolean | undefined;
}

/**
 * Makes a message for an incoming webhook of Slack, of blocks of its Block Kit; the texts of records are already
 * escaped.
 * @param prompt decision to click on; null if nothing can be clicked
 */
export function slackMessage(message: Message, prompt: ReviewPrompt | null): JsonObject {
  // Notifications show this text, which has only our own words.
  return {
    text: message.title,
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: slackBlocks(message, prompt),
  };
}

function slackBlocks(
  { title, facts, content, link, caution }: Message,
  prompt: ReviewPrompt | null,
): readonly JsonObject[] {
  const sections: JsonObject[] = [];
  for (let first = 0; first < facts.length; first += MAX_FIELDS) {
    const fields = facts.slice(first, first + MAX_FIELDS).map(({ label, text }) => plain(`${label}: ${text}`));
    sections.push({ type: 'section', fields });
  }
  return [
    { type: 'header', text: plain(title) },
    ...sections,
    ...(content === null ? [] : [{ type: 'section', text: plain(content) }]),
    ...(caution === null ? [] : [{ type: 'context', elements: [plain(caution)] }]),
    ...(link === null ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${link}|Open it in the console>` } }]),
    // A message with missing parts must not let anybody decide.
    ...(prompt === null || caution !== null ? [] : buttons(prompt)),
  ];
}

function buttons({ decisionId, needsComment: asksComment = false }: ReviewPrompt): readonly JsonObject[] {
  const element = { type: 'plain_text_input', action_id: COMMENT, multiline: true, max_length: 2_000 };
  const input = { type: 'input', block_id: COMMENT, optional: true, label: plain('Why not?'), element };
  const reject = asksComment ? button('Reject now', 'reject_with_comment') : button('Reject', 'reject');
  const elements = [
    { ...button('Approve', 'approve'), value: decisionId, style: 'primary' },
    { ...reject, value: decisionId, style: 'danger' },
  ];
  return [...(asksComment ? [input] : []), { type: 'actions', block_id: 'decision', elements }];
}

function button(text: string, click: Click): JsonObject {
  return { type: 'button', text: plain(text), action_id: click };
}

export function plain(text: string): JsonObject {
  return { type: 'plain_text', text, emoji: false };
}

/**
 * Escapes a text. A `TextRun` has no Markdown and no mentions, but clients replace what looks like a function of time.
 */
export function escapeForTeams(text: string): string {
  return text.replace(/\{\{(?=DATE|TIME)/g, '{ {');
}

/** Makes a message for an incoming webhook or workflow of Teams: an Adaptive Card. */
export function teamsMessage({ title, facts, content, link, caution }: Message): JsonObject {
  const body = [
    { type: 'TextBlock', text: title, size: 'Medium', weight: 'Bolder', wrap: true },
    ...facts.map(({ label, text }) => richText(run(`${label}: `, { weight: 'Bolder' }), run(text))),
    ...(content === null ? [] : content.split('\n').map((line) => richText(run(line, { fontType: 'Monospace' })))),
    ...(caution === null ? [] : [{ type: 'TextBlock', text: caution, wrap: true, color: 'Warning' }]),
  ];
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body,
    ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: 'Open it in the console', url: link }] }),
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card };
  return { type: 'message', attachments: [attachment] };
}

function richText(...inlines: readonly JsonObject[]): JsonObject {
  return { type: 'RichTextBlock', spacing: 'Small', inlines };
}

function run(text: string, look: JsonObject = {}): JsonObject {
  return { type: 'TextRun', text, ...look };
}
