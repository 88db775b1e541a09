import type { JSX } from 'preact';

/** The requirements that each figure serves: articles of the EU AI Act, and sections of chapter 9 of OWASP AISVS. */
const SERVES = {
  waiting: ['14, 26(2)', '9.2'],
  requests: ['12, 26(5)', '9.4, 9.6'],
  reasons: ['12, 26(5)', '9.6, 9.7'],
  agents: ['12, 26(5)', '9.4'],
  approvals: ['14(4), 26(2)', '9.2'],
  access: ['14, 26(1)', '9.6, 9.7'],
  observed: ['14, 26(5)', '9.6'],
  stops: ['14(4)(e)', '9.1, 9.8'],
  policies: ['14, 26(1)', '9.6, 9.7'],
  changes: ['14(4), 26(1)', '9.6'],
  erasures: ['19, 26(6)', '9.4'],
  grants: ['14(4), 26(2)', '9.2'],
  chain: ['12, 19, 26(6)', '9.4'],
} as const;

export function Serves({ as }: { readonly as: keyof typeof SERVES }): JSX.Element {
  const [articles, sections] = SERVES[as];
  return (
    <small class="serves">
      EU AI Act Art. {articles} · OWASP AISVS {sections}
    </small>
  );
}
