import { printLine } from '../../output.js';
import { shownMessage } from '../../settings.js';

/** The facts of one request that its line in the log has. */
export interface RequestLine {
  readonly upstream: string | null;
  readonly route: string | null;
  readonly status: number;
  readonly executionId: string | null;
  readonly milliseconds: number;
  readonly reason: string | null;
}

/** Writes lines of JSON. No line has a header, a body or a query. */
export class GatewayLog {
  request({ upstream, route, status, executionId, milliseconds, reason }: RequestLine): void {
    this.line({
      ...{ level: 'info', upstream, route, status, execution: executionId, ms: Math.round(10 * milliseconds) / 10 },
      ...(reason !== null && { reason }),
    });
  }

  info(message: string): void {
    this.line({ level: 'info', message });
  }

  warn(message: string, error?: unknown, executionId?: string): void {
    const fault = error === undefined ? '' : `: ${shownMessage(error)}`;
    this.line({
      level: 'warn',
      message: `${message}${fault}`,
      ...(executionId !== undefined && { execution: executionId }),
    });
  }

  private line(members: object): void {
    printLine(JSON.stringify({ time: new Date().toISOString(), ...members }));
  }
}
