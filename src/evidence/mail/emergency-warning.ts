import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { RecordReader } from '../../ledger/reading/record-reader';
import { WEBHOOK, type Webhook } from '../webhooks/webhook.entity';

/** Exceeds the maximum number of webhooks. */
const MAX_WEBHOOKS = 1_000;
const TELLING: ReadonlySet<string> = new Set(['*', 'decision.*', 'decision.proposed']);

/** Warns at the start if nobody would learn of an emergency change. */
@Injectable()
export class EmergencyWarning implements OnApplicationBootstrap {
  private readonly logger = new Logger('FourEyes');

  constructor(
    private readonly configuration: Configuration,
    private readonly records: RecordReader,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { fourEyes, smtpUrl } = this.configuration;
    if (!fourEyes || smtpUrl !== null || (await this.hasTellingWebhook())) return;
    this.logger.warn(
      'Nobody would hear of a change in an emergency (Break-Glass): set SMTP_URL, or create a webhook for decision.proposed.',
    );
  }

  private async hasTellingWebhook(): Promise<boolean> {
    const conditions = [{ column: 'status', comparison: 'equals', value: 'active' }] as const;
    const range = { conditions, order: 'asc', position: null, atOnce: MAX_WEBHOOKS } as const;
    for await (const webhooks of this.records.columns(WEBHOOK, ['actions', 'agentId', 'approvers'], range))
      if (webhooks.some(isTelling)) return true;
    return false;
  }
}

/** True if the webhook is told of emergencies, which no agent proposes and people of any group review. */
function isTelling({ actions, agentId, approvers }: Pick<Webhook, 'actions' | 'agentId' | 'approvers'>): boolean {
  const isForAll = agentId === null && (approvers.length === 0 || approvers.includes('kind:human'));
  return isForAll && actions.some((action) => TELLING.has(action));
}
