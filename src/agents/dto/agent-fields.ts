import { labelFault } from '../../shared/label-fault';

/** What a request may say about an agent, at creation and afterwards. */
export const DESCRIPTION = {
  max: 2_000,
  mayBeBlank: true,
  description: 'What the agent is for.',
  example: 'Sends reminders of invoices.',
};

export const CAPABILITIES = {
  optional: true,
  maxItems: 200,
  item: { max: 100, rule: labelFault },
  description:
    'Names of the actions the agent may use, exactly. None: it can do nothing. Without control and format characters and ' +
    'white space at their ends.',
  example: ['send-reminder', 'read-document', 'write-off'],
};

export const ROLES = {
  optional: true,
  maxItems: 50,
  item: { max: 100, rule: labelFault },
  description:
    'Roles that the subjects of a policy can name as `role:<role>`. Without control and format characters and white space at ' +
    'their ends.',
  example: ['collections'],
};
