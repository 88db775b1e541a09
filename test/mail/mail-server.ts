import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';

/** A mail as it arrives. */
export interface ReceivedMail {
  readonly to: readonly string[];
  readonly source: string;
}

/** A mail server that keeps what it takes, unless it refuses. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  refuses: (address: string) => boolean = () => false;
  /** Runs before the server confirms a mail that it has accepted. */
  beforeConfirmation: () => Promise<unknown> = () => Promise.resolve();

  private constructor(private readonly server: SMTPServer) {}

  static async start(): Promise<MailServer> {
    const mails: MailServer[] = [];
    const server = new SMTPServer({
      ...{ authOptional: true, disabledCommands: ['STARTTLS'], logger: false },
      onRcptTo: ({ address }, _session, done) =>
        done(
          mails[0]?.refuses(address) === true
            ? Object.assign(new Error('No such mailbox'), { responseCode: 550 })
            : null,
        ),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          mails[0]?.received.push({ to, source: Buffer.concat(chunks).toString() });
          void mails[0]?.beforeConfirmation().then(() => done());
        });
      },
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const started = new MailServer(server);
    mails.push(started);
    return started;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  async until(count: number): Promise<void> {
    await this.lookFor(() => this.received.length >= count);
    expect(this.received.length).toBeGreaterThanOrEqual(count);
  }

  async untilSentTo(address: string): Promise<void> {
    const recipients = (): readonly string[] => this.received.flatMap(({ to }) => to);
    await this.lookFor(() => recipients().includes(address));
    expect(recipients()).toContain(address);
  }

  /** Waits until something is so, for half a minute at least. */
  private async lookFor(isSo: () => boolean): Promise<void> {
    for (let looks = 0; looks < 600 && !isSo(); looks += 1) await sleep(50);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** The text of a mail, decoded as a mail program does. */
export function mailText({ source }: ReceivedMail): string {
  const [head = '', ...body] = source.split('\r\n\r\n');
  const text = body.join('\n\n').replaceAll('\r\n', '\n');
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(text, 'base64').toString();
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return text;
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
