/* For compilers: macros, types, loops, a switch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
	int key;
};

static struct node *insert(struct node *n, int key)
{
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (n)
			n->key = key;
		return n;
	}
	if (key < n->key)
		n->left = insert(n->left, key);
	else if (key > n->key)
		n->right = insert(n->right, key);
	return n;
}

static int depth(const struct node *n)
{
	int l, r;

	if (!n)
		return 0;
	l = depth(n->left);
	r = depth(n->right);
	return 1 + (l > r ? l : r);
}

static const char *name(int i)
{
	switch (i & 7) {
	case 0: return "zero";
	case 1: return "one";
	case 2: return "two";
	case 5: return "five";
	default: return "many";
	}
}

int main(void)
{
	struct node *root = NULL;
	size_t len = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		root = insert(root, i * 7919 % 1009);
		len += strlen(name(i));
	}
	printf("%d %zu\n", depth(root), len);
	return 0;
}
