import { normaliseAgentName } from '../../../governance/agents/agent-name';
import { actionPatternOrAnyFault, LONGEST_PATTERN } from '../../events/event-filter';
import { ConfiguredRequest, type ConfiguredRule } from '../../../http/validation/dto';
import {
  AtLeastOneOf,
  DistinctStrings,
  IntegerField,
  OptionalText,
  RequiredText,
} from '../../../http/validation/fields';
import { textFault } from '../../../http/validation/value-rules';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { refusedTargetFault, webhookUrlFault } from '../webhook-url';

const URL = {
  max: 2_048,
  rule: webhookUrlFault,
  description:
    'URL to which audit entries are delivered: https, without user info and fragment, at an address of the public internet.',
  example: 'https://hooks.example.com/governance',
};

const ACTIONS = {
  minItems: 1,
  maxItems: 50,
  item: { max: LONGEST_PATTERN, rule: actionPatternOrAnyFault },
  description: 'Actions that are delivered: each an action, a family of them such as `decision.*`, or `*` for all.',
  example: ['decision.*', 'execution.denied'],
};

const AGENT_ID = {
  max: 500,
  normalise: normaliseAgentName,
  description: 'Id or name of an agent: only its entries are delivered.',
  example: sampleId('agt'),
};

const DESCRIPTION = {
  max: 2_000,
  mayBeBlank: true,
  description: 'What the endpoint is for.',
  example: 'Informs the finance channel of decisions.',
};

/** A URL that is not valid is reported by the rule of its member. */
const permittedTarget: ConfiguredRule = ({ url }, configuration) => {
  if (typeof url !== 'string' || textFault(url, URL) !== undefined) return [];
  const message = refusedTargetFault(url, configuration);
  return message === undefined ? [] : [{ field: 'url', message }];
};

@ConfiguredRequest(permittedTarget)
export class CreateWebhookRequest {
  @RequiredText(URL)
  readonly url!: string;

  @DistinctStrings(ACTIONS)
  readonly actions!: string[];

  @OptionalText(AGENT_ID)
  readonly agentId?: string;

  @OptionalText(DESCRIPTION)
  readonly description?: string;
}

/** Absent members stay unchanged; a list is replaced as a whole. */
@AtLeastOneOf('url', 'actions', 'agentId', 'description')
@ConfiguredRequest(permittedTarget)
export class UpdateWebhookRequest {
  @OptionalText(URL)
  readonly url?: string;

  @DistinctStrings({ ...ACTIONS, optional: true })
  readonly actions?: string[];

  @OptionalText(AGENT_ID)
  readonly agentId?: string;

  @OptionalText(DESCRIPTION)
  readonly description?: string;
}

export class ReplayWebhookRequest {
  @IntegerField({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Sequence after which deliveries start again; 0: with the first entry.',
    example: 0,
  })
  readonly after!: number;
}
