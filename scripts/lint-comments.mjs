/** A docstring that begins with one of these words has no subject: see CONTRIBUTING.md, "Comments and messages". */
const WITHOUT_SUBJECT = /^\**\s*(?:What|Whether|Who|How|Of|By|As|Where|Those)\b(?! default)/u;

/** Reports docstrings that are no sentences whose subject is the thing that they describe. */
const subject = {
  create(context) {
    return {
      'Program:exit': () => {
        for (const comment of context.sourceCode.getAllComments()) {
          if (comment.type === 'Block' && comment.value.startsWith('*') && WITHOUT_SUBJECT.test(comment.value))
            context.report({ loc: comment.loc, message: 'Begin with what the thing is or does: "Maps ids to rows".' });
        }
      },
    };
  },
};

export default { meta: { name: 'comments' }, rules: { 'has-subject': subject } };
