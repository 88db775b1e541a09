import { createRequire } from 'node:module';
import { Injectable } from '@nestjs/common';
import type * as nodemailer from 'nodemailer';
import { withTimeLimit } from '../../core/concurrency/time-limit';
import { Configuration } from '../../core/config/configuration';
import type { Message } from '../webhooks/messages/message';

/** Milliseconds for a whole mail, and for each step of it. */
const MAX_MAIL_MS = 60_000;
const MAX_STEP_MS = 20_000;
const STEPS = {
  connectionTimeout: MAX_STEP_MS,
  greetingTimeout: MAX_STEP_MS,
  socketTimeout: MAX_STEP_MS,
  dnsTimeout: MAX_STEP_MS,
};

export interface Mail extends MailText {
  readonly to: string;
  /** Id of the mail, which stays the same if it is sent again. */
  readonly id: string;
}

/** Hands mails to the mail server. */
@Injectable()
export class MailSender {
  private readonly over = new AbortController();

  constructor(private readonly configuration: Configuration) {}

  /** Ends the mails being sent. */
  stop(): void {
    this.over.abort();
  }

  /** @throws Error with the server's answer, or for a timeout */
  async send({ to, subject, text, id }: Mail): Promise<void> {
    const { smtpUrl, mailFrom } = this.configuration;
    if (smtpUrl === null || mailFrom === null) throw new Error('There is no mail server.');
    // Only services that send mails need the library.
    const { createTransport } = createRequire(__filename)('nodemailer') as typeof nodemailer;
    const transport = createTransport({ url: smtpUrl, ...STEPS });
    await transport.sendMail({
      from: mailFrom,
      to: { name: '', address: to },
      subject,
      text,
      messageId: `<${id}@${new URL(smtpUrl).hostname}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: withTimeLimit(this.over.signal, MAX_MAIL_MS),
    });
  }
}

/** Escapes texts that mail programs would turn into links, whoever wrote them. */
export function escapeForMail(text: string): string {
  return text.replaceAll('://', ': //').replace(/www\./gi, '$& ');
}

interface MailText {
  readonly subject: string;
  readonly text: string;
}

/**
 * Returns the text of a mail: the first decisions, and their number. @param link link to the console; null if its
 * address is unknown
 */
export function mailText(messages: readonly Message[], count: number, link: string | null): MailText {
  const subject = count === 1 ? 'A decision waits for you' : `${count} decisions wait for you`;
  const more = count - messages.length;
  const suffix = link === null ? '' : `: ${link}`;
  const parts = [
    `${subject}.`,
    ...messages.map((message, index) => described(message, index + 1)),
    ...(more > 0 ? [`And ${more} more${suffix}`] : []),
  ];
  return { subject, text: `${parts.join('\n\n')}\n` };
}

function described({ facts, content, link, caution }: Message, number: number): string {
  const lines = [
    ...facts.map(({ label, text }) => `${label}: ${text.replaceAll('\n', ' ')}`),
    ...(content === null ? [] : content.split('\n')),
    ...(caution === null ? [] : [caution]),
    ...(link === null ? [] : [link]),
  ];
  const [first = '', ...others] = lines;
  return [`${number}. ${first}`, ...others.map((line) => `   ${line}`)].join('\n');
}
