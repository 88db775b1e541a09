import { useEffect } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Decision } from '../../api/types.js';
import { useDraft, useDrafts } from '../../ui/drafts.js';

/** The comment on a decision, kept until it is dropped. */
export function useComment(decision: Decision): ReturnType<typeof useDraft> {
  return useDraft(placeOf(decision), '');
}

/** Drops the comment once there is no form any more in which it could be found. */
export function useCommentEnd(decision: Decision): void {
  const { me } = useSession();
  const drafts = useDrafts();
  const place = placeOf(decision);
  const isReviewed = decision.reviews.some(({ approverId }) => approverId === me.agentId);
  const isOver = decision.status !== 'proposed' || isReviewed;
  useEffect(() => {
    if (isOver) drafts.keep(place, null);
  }, [drafts, place, isOver]);
}

function placeOf({ id }: Decision): string {
  return `decisions/${id}`;
}
