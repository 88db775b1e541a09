import { normaliseAgentName } from '../agents/agent-name';
import { parseSubject } from './patterns/subject-pattern';

/**
 * The name that a subject would have as an agent. Null where it cannot be mistaken for one: only `<type>:<id>` can, which
 * is read as a subject that is not an agent.
 */
export function mistakenName(subject: string): string | null {
  const pattern = parseSubject(subject);
  return pattern.kind === 'other' && pattern.id !== '*' ? normaliseAgentName(subject) : null;
}

/** Names the subjects that were probably meant as an agent. @param agents names that agents have. */
export function mistakenSubjects(subjects: readonly string[], agents: ReadonlySet<string>): string[] {
  return subjects.flatMap((subject) => {
    const name = mistakenName(subject);
    const pattern = parseSubject(subject);
    if (pattern.kind !== 'other' || name === null || !agents.has(name)) return [];
    const { type, id } = pattern;
    return `"${subject}" means "${id}" of the type "${type}", not the agent with that name, which is "agent:${subject}".`;
  });
}
