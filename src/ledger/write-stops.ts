import { unavailable, type DomainError } from '../errors/domain-error';

/** Why nothing may be written although the database would take it. Each cause stands for itself. */
export class WriteStops {
  private readonly messages = new Map<string, string>();

  /** @param message for the callers that are refused. */
  stop(cause: string, message: string): void {
    this.messages.set(cause, message);
  }

  lift(cause: string): void {
    this.messages.delete(cause);
  }

  /** What a write is refused with; null when none is. */
  get refusal(): DomainError | null {
    const [message] = this.messages.values();
    return message === undefined ? null : unavailable(message);
  }
}
