import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { JsonObject } from '../../core/json/json-value';
import { escapeForSlack, plain } from '../webhooks/messages/slack-message';

/** Milliseconds that Slack has for each. */
const LONGEST = 10_000;

/** For the person who clicked alone. */
export function privately(text: string): JsonObject {
  const blocks = [{ type: 'section', text: plain(escapeForSlack(text).slice(0, 2_900)) }];
  return { response_type: 'ephemeral', replace_original: false, text: 'Nothing was decided', mrkdwn: false, blocks };
}

/** In place of the message. */
export function inPlace(message: JsonObject): JsonObject {
  return { ...message, replace_original: true };
}

/** Tells Slack what came of clicks. Its request was answered before, and the decision stands, whether this arrives or not. */
@Injectable()
export class SlackReplies implements OnModuleDestroy {
  private readonly logger = new Logger('Slack');
  private readonly over = new AbortController();

  onModuleDestroy(): void {
    this.over.abort();
  }

  /** In this order. @param url one of Slack's. */
  send(url: string, replies: readonly JsonObject[]): void {
    void this.sendAll(url, replies).catch((error: unknown) => {
      if (!this.over.signal.aborted) this.logger.warn(`Slack was not told what came of a click: ${String(error)}`);
    });
  }

  private async sendAll(url: string, replies: readonly JsonObject[]): Promise<void> {
    for (const reply of replies) {
      const answer = await fetch(url, {
        ...{ method: 'POST', redirect: 'error', body: JSON.stringify(reply) },
        headers: { 'Content-Type': 'application/json' },
        signal: AbortSignal.any([this.over.signal, AbortSignal.timeout(LONGEST)]),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    }
  }
}
