import { CUT, type Message } from '../webhooks/messages/message';

/** Mail programs make links of what looks like one, whoever wrote it. */
export function escapeForMail(text: string): string {
  return text.replaceAll('://', ': //').replace(/www\./gi, '$& ');
}

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** What a mail says: the first decisions, and how many there are. @param link of the console; null if nobody knows it. */
export function mailText(messages: readonly Message[], count: number, link: string | null): MailText {
  const subject = count === 1 ? 'A decision waits for you' : `${count} decisions wait for you`;
  const more = count - messages.length;
  const place = link === null ? '' : `: ${link}`;
  const parts = [
    `${subject}.`,
    ...messages.map((message, index) => described(message, index + 1)),
    ...(more > 0 ? [`And ${more} more${place}`] : []),
  ];
  return { subject, text: `${parts.join('\n\n')}\n` };
}

function described({ facts, content, link, isCut }: Message, number: number): string {
  const lines = [
    ...facts.map(({ label, text }) => `${label}: ${text.replaceAll('\n', ' ')}`),
    ...(content === null ? [] : content.split('\n')),
    ...(isCut ? [CUT] : []),
    ...(link === null ? [] : [link]),
  ];
  const [first = '', ...others] = lines;
  return [`${number}. ${first}`, ...others.map((line) => `   ${line}`)].join('\n');
}
