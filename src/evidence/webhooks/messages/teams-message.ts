import type { JsonObject } from '../../../core/json/json-value';
import { CUT, type Message } from './message';

/** A `TextRun` has no Markdown and no mentions, but clients replace what looks like a function of time. */
export function escapeForTeams(text: string): string {
  return text.replace(/\{\{(?=DATE|TIME)/g, '{ {');
}

/** A message for an incoming webhook or workflow of Teams: an Adaptive Card. */
export function teamsMessage({ title, facts, content, link, isCut }: Message): JsonObject {
  const body = [
    { type: 'TextBlock', text: title, size: 'Medium', weight: 'Bolder', wrap: true },
    ...facts.map(({ label, text }) => richText(run(`${label}: `, { weight: 'Bolder' }), run(text))),
    ...(content === null ? [] : content.split('\n').map((line) => richText(run(line, { fontType: 'Monospace' })))),
    ...(isCut ? [{ type: 'TextBlock', text: CUT, wrap: true, color: 'Warning' }] : []),
  ];
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    ...{ type: 'AdaptiveCard', version: '1.4', body },
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
