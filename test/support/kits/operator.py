# SPDX-License-Identifier: Apache-2.0
"""The operator of a dialog: answers prompts by their kind and values, never by their text."""

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.dialog import Dialog


def words(sentence):
    """The kind of a sentence and its values, also those of the sentences in it."""
    found = {sentence.kind}
    for value in sentence.values.values():
        found |= words(value) if isinstance(value, Sentence) else {str(value)}
    return found


def is_about(sentence, text):
    """Whether a sentence has all these words, separated by spaces, as its kind and values."""
    return set(text.split()) <= words(sentence)


class Operator(Dialog):
    """Takes `answers` first, (words of a prompt, answer or what is done); then acts by its kind; else types Enter."""

    def __init__(self, answers=()):
        self.answers = list(answers)
        self.said, self.prompts = [], []

    def say(self, text):
        self.said.append(text)

    def answer_to(self, prompt, meanwhile=None):
        self.prompts.append(prompt)
        for given in self.answers:
            if is_about(prompt.text, given[0]):
                self.answers.remove(given)
                answer = given[1]() if callable(given[1]) else given[1]
                if answer is not None:
                    return answer
                break
        act = getattr(self, f"on_{prompt.kind}", None)
        return (act(prompt, meanwhile) if act else None) or ""

    @property
    def asked(self):
        """The questions so far."""
        return [prompt.text for prompt in self.prompts]

    def shown(self, text):
        """What was said and asked with these words."""
        return [sentence for sentence in (*self.said, *self.asked) if is_about(sentence, text)]

    def told(self):
        """All that was said, as text."""
        return "\n".join(map(str, self.said))
