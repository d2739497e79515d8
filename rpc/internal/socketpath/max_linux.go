package socketpath

const maxBytes = 107
