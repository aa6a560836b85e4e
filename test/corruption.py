"""Files as accidents leave them: bytes that are flipped, cut off, doubled or lost."""

WORDS = ('nan', 'inf', '-inf', '1e308', '-1e308', '1e-308', '1e999', '0', '-1', '2147483648',
         '9' * 40, '1_0', '\u00b2', '\u0663', '', ' ', '"', "'", '~', 'null', 'true', '*', '*a',
         '&a', '[]', '{}', '[[', '}}', ':', '- ', '#', '!!python/object:os.system', '\0', '\ufeff',
         '\r', 'x' * 5000, '../../etc/passwd', '/dev/null', '.', '..')


def corrupted(random, data):
    """Return bytes with one to four accidents."""
    data = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at, length = random.randrange(len(data) + 1), random.choice((1, 1, 4, 8, 64, 1000))
        accident = random.randrange(6)
        if accident == 0:
            for k in range(at, min(at + length, len(data))):
                data[k] ^= 1 << random.randrange(8)
        elif accident == 1:
            data[at:at + length] = random.randbytes(length)
        elif accident == 2:
            data[at:at + length] = bytes([random.choice((0, 0xff))]) * length
        elif accident == 3:
            del data[at:at + length]
        elif accident == 4:
            data[at:at] = data[at:at + length]
        elif random.random() < 0.3:
            del data[at:]
    return bytes(data)


def misspelt(random, text, pattern):
    """Return text with one to three of its words, as found by a pattern, replaced by odd ones."""
    for _ in range(random.randint(1, 3)):
        words = list(pattern.finditer(text))
        if not words:
            break
        word = random.choice(words)
        other = random.choice((*WORDS, random.choice(words)[0]))
        text = text[:word.start()] + other + text[word.end():]
    return text
