import { labelFault } from '../../core/values/label-fault';
import { agentNameFault, normaliseAgentName } from '../agents/agent-name';
import { emailFault } from '../agents/dto/agent.dto';
import type { ScimGroup, ScimUser } from './scim-schema';

const MAX_CHARACTERS = 200;
const MAX_EMAIL_CHARACTERS = 254;

/** Returns the fault of a person that the directory sends; undefined if valid. */
export function userFault({ externalId, userName, displayName = '', email }: ScimUser): string | undefined {
  return firstFault({
    externalId: textFault(externalId),
    userName: textFault(userName) ?? agentNameFault(normaliseAgentName(userName)),
    displayName: lengthFault(displayName),
    emails: email === undefined ? undefined : (lengthFault(email, MAX_EMAIL_CHARACTERS) ?? emailFault(email)),
  });
}

/** Returns the fault of a group that the directory sends; undefined if valid. */
export function groupFault({ displayName, externalId }: ScimGroup): string | undefined {
  return firstFault({
    displayName: displayName === '' ? 'is required' : lengthFault(displayName),
    externalId: externalId === undefined ? undefined : textFault(externalId),
  });
}

function firstFault(faults: Readonly<Record<string, string | undefined>>): string | undefined {
  const [fault] = Object.entries(faults).filter(([, message]) => message !== undefined);
  return fault === undefined ? undefined : `${fault[0]} ${fault[1]}.`;
}

function textFault(text: string): string | undefined {
  return text === '' ? 'is required' : (lengthFault(text) ?? labelFault(text));
}

function lengthFault(text: string, most = MAX_CHARACTERS): string | undefined {
  return text.length > most ? `must have at most ${most} characters` : undefined;
}
